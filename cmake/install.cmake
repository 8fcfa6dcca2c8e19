# cmake --install makes find_package(polykern) work for programs outside this tree.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/polykern)
get_property(libraries GLOBAL PROPERTY POLYKERN_LIBRARIES)
add_library(polykern_all INTERFACE)  # polykern::polykern, which has polykern.h
set_target_properties(polykern_all PROPERTIES EXPORT_NAME polykern)
target_sources(polykern_all INTERFACE FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${PROJECT_SOURCE_DIR}/src/polykern/polykern.h
  ${PROJECT_SOURCE_DIR}/src/polykern/agent_c.h)
target_link_libraries(polykern_all INTERFACE polykern_sim polykern_net_agent polykern_net_c)
install(TARGETS ${libraries} polykern_all EXPORT polykernTargets FILE_SET HEADERS)
install(TARGETS polykern polykern-agent RUNTIME)
install(EXPORT polykernTargets NAMESPACE polykern:: DESTINATION ${package_dir})
configure_package_config_file(cmake/polykernConfig.cmake.in
  ${PROJECT_BINARY_DIR}/polykernConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/polykernConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/polykernConfig.cmake
  ${PROJECT_BINARY_DIR}/polykernConfigVersion.cmake DESTINATION ${package_dir})
