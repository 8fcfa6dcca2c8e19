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

# For programs in C without CMake: pkg-config --cflags --libs polykern-agent.
get_target_property(agent_libraries polykern_net_c INTERFACE_LINK_LIBRARIES)
list(FILTER agent_libraries INCLUDE REGEX "^polykern::")
list(TRANSFORM agent_libraries REPLACE "^polykern::" "-lpolykern_")
list(JOIN agent_libraries " " agent_libraries)
set(up /usr)
cmake_path(RELATIVE_PATH up BASE_DIRECTORY /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/polykern-agent.pc.in ${PROJECT_BINARY_DIR}/polykern-agent.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/polykern-agent.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
