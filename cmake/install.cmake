# cmake --install makes find_package(polykern) work for programs outside this tree.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/polykern)
get_property(libraries GLOBAL PROPERTY POLYKERN_LIBRARIES)
install(TARGETS ${libraries} EXPORT polykernTargets FILE_SET HEADERS)
install(TARGETS polykern RUNTIME)
install(EXPORT polykernTargets NAMESPACE polykern:: DESTINATION ${package_dir})
configure_package_config_file(cmake/polykernConfig.cmake.in
  ${PROJECT_BINARY_DIR}/polykernConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/polykernConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/polykernConfig.cmake
  ${PROJECT_BINARY_DIR}/polykernConfigVersion.cmake DESTINATION ${package_dir})
