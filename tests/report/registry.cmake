# cmake -DWEB=<source> -DFOLDER=<scratch> -P registry.cmake: what the build says when npm cannot reach its packages.
cmake_minimum_required(VERSION 3.25)
include(${WEB}/packages.cmake)
file(REMOVE_RECURSE ${FOLDER})
set(ENV{npm_config_registry} http://127.0.0.1:9/)  # nothing listens
set(ENV{npm_config_cache} ${FOLDER}/cache)
set(ENV{npm_config_fetch_retries} 0)
polykern_packages(${WEB} ${FOLDER} OFF why)
if(NOT why MATCHES "^npm could not download its packages \\(ECONNREFUSED\\); [^\n]+$")
  message(FATAL_ERROR "It says: ${why}")
endif()
if(EXISTS ${FOLDER}/installed)
  message(FATAL_ERROR "The packages pass for installed")
endif()
