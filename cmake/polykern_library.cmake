# polykern_library(<folder> [PURE] [FOLDERS <sub-folders>...] [DEPS <libraries>...] [LINK <targets>...] [LINK_PRIVATE <targets>...])
#
# Turns src/polykern/<folder> into the target polykern::<folder>:
#   *.h *.cc      the library, sub-folders included
#   *_test.cc     its tests, named <folder>.Suite.Case, label "unit"
# Where a program needs some of a folder, but not what else it links, the folder is several libraries: each says which
# sub-folders it is made of (FOLDERS; `.` is the folder itself, without those below). polykern_tests makes their tests then:
# those of a folder are one program, which may use all of its libraries.
# Public, hence installed and compiled on their own by a test, are the headers that polykern.h includes.
# *-inl.h is vector code, *_internal.h what only a library's own sources include, *_testing.h what only tests do.
# The rules below are checked, so there is no need to remember them:
#   1. DEPS may name only folders added earlier, so a cycle cannot be written;
#   2. a file may include only its own library and its DEPS; a test all that its folder has;
#   3. a PURE folder includes no I/O, threads or clocks.       (2, 3: ctest -L lint)

add_library(polykern_warnings INTERFACE)
target_compile_options(polykern_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion -Wno-sign-conversion>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps and overruns inside std::string that are not there.
  target_compile_options(polykern_warnings INTERFACE
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # it takes the sources of a unity file for headers
  target_compile_options(polykern_warnings INTERFACE -Wno-subobject-linkage)
endif()

# Same seed, same bits: a*b+c is fused only where the source says so, on every machine.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# POLYKERN_COLD_OPTIONS: what is not arithmetic may be compiled with less effort (preset ci: a third of the time).

# Tests took most of the time of a build: so GoogleTest's headers are compiled once for all of them, by a
# program that does nothing else, and what calls the code under test is not optimised.
function(polykern_test_program target)
  target_compile_options(${target} PRIVATE -O0)
  if(NOT TARGET polykern_test_headers)
    set(empty ${PROJECT_BINARY_DIR}/test_headers.cc)
    file(CONFIGURE OUTPUT ${empty} CONTENT "")
    add_executable(polykern_test_headers ${empty})
    target_compile_options(polykern_test_headers PRIVATE -O0)
    target_link_libraries(polykern_test_headers PRIVATE polykern_warnings GTest::gmock_main)
    target_precompile_headers(polykern_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM polykern_test_headers)
endfunction()

# POLYKERN_TEST_OBJECTS: another build's folder, whose compiled tests are linked with this build's libraries: a sanitizer
# judges the libraries, and compiling the tests again took it longer than running them. These libraries come first,
# so that of a function that both have compiled theirs is taken.
function(polykern_borrowed_tests target name)  # and its libraries
  file(GLOB_RECURSE objects CONFIGURE_DEPENDS ${POLYKERN_TEST_OBJECTS}/src/polykern/${name}/CMakeFiles/${target}.dir/*.o)
  if(NOT objects)
    message(FATAL_ERROR "${POLYKERN_TEST_OBJECTS} has no ${target}: build it there first.")
  endif()
  add_executable(${target} ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:polykern_\\1>" OUTPUT_VARIABLE archives)
  target_link_options(${target} PRIVATE -Wl,--whole-archive ${archives} -Wl,--no-whole-archive)
endfunction()

# polykern_unit_tests(<target> <name>): each case is a test, <name>.Suite.Case. Where POLYKERN_LEFT_OUT lists parts of
# names, the program is one test, without the cases that have one of them: starting a process for each case
# took the sanitizers longer than the cases did.
function(polykern_unit_tests target name)
  if(NOT POLYKERN_TEST_OBJECTS)
    polykern_test_program(${target})
  endif()
  if(NOT POLYKERN_LEFT_OUT)
    gtest_discover_tests(${target} TEST_PREFIX ${name}. PROPERTIES LABELS unit)
    return()
  endif()
  list(TRANSFORM POLYKERN_LEFT_OUT REPLACE "(.+)" "*\\1*")
  list(JOIN POLYKERN_LEFT_OUT ":" filter)
  string(PREPEND filter "Long*:*.Long*:")  # scripts/test-long's; but not those that have the word within
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1 --gtest_filter=-${filter})
  file(GLOB_RECURSE files ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  list(LENGTH files cost)  # the longest begin first, so that no core waits for them in the end
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 1200 COST ${cost})
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/polykern/polykern.h)
file(STRINGS ${PROJECT_SOURCE_DIR}/src/polykern/polykern.h polykern_public REGEX "^#include")
list(TRANSFORM polykern_public REPLACE "^#include \"(.*)\"$" "${PROJECT_SOURCE_DIR}/src/\\1")

# polykern_tests(<folder> <libraries>...): all tests below the current folder, as one program.
function(polykern_tests name)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS *_test.cc)
  if(NOT BUILD_TESTING OR NOT tests)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND polykern:: OUTPUT_VARIABLE libraries)
  if(POLYKERN_TEST_OBJECTS)
    polykern_borrowed_tests(polykern_${name}_test ${name} ${ARGN})
  else()
    add_executable(polykern_${name}_test ${tests})
  endif()
  target_link_libraries(polykern_${name}_test PRIVATE ${libraries} polykern_warnings GTest::gmock_main)
  polykern_unit_tests(polykern_${name}_test ${name})
endfunction()

function(polykern_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PURE" "" "FOLDERS;DEPS;LINK;LINK_PRIVATE")
  if(arg_FOLDERS)
    list(TRANSFORM arg_FOLDERS APPEND "/*.h" OUTPUT_VARIABLE patterns)
    list(TRANSFORM arg_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE more)
    file(GLOB files CONFIGURE_DEPENDS ${patterns} ${more})
  else()
    file(GLOB_RECURSE files CONFIGURE_DEPENDS *.h *.cc)
  endif()
  set(folders "")  # below src/polykern
  foreach(file IN LISTS files)
    cmake_path(NORMAL_PATH file)  # without `.`
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src/polykern)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(may_include ${folders})
  foreach(dep IN LISTS arg_DEPS)
    if(NOT TARGET polykern_${dep})
      message(FATAL_ERROR "${name} depends on ${dep}, which is not added before it.")
    endif()
    get_target_property(theirs polykern_${dep} POLYKERN_FOLDERS)
    list(APPEND may_include ${theirs})
  endforeach()

  list(JOIN folders "|" any_folder)
  set(headers ${polykern_public})
  list(FILTER headers INCLUDE REGEX "/src/polykern/(${any_folder})/[^/]*$")
  set(sources ${files})
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")

  add_library(polykern_${name} STATIC ${sources})
  add_library(polykern::${name} ALIAS polykern_${name})
  target_sources(polykern_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers})
  target_compile_features(polykern_${name} PUBLIC cxx_std_20)
  set_target_properties(polykern_${name} PROPERTIES
    EXPORT_NAME ${name} LINKER_LANGUAGE CXX VERIFY_INTERFACE_HEADER_SETS ON POLYKERN_FOLDERS "${folders}")
  list(TRANSFORM arg_DEPS PREPEND polykern:: OUTPUT_VARIABLE deps)
  target_link_libraries(polykern_${name}
    PUBLIC ${deps} ${arg_LINK}
    PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:polykern_warnings>)
  if(NOT arg_PURE)
    target_compile_options(polykern_${name} PRIVATE ${POLYKERN_COLD_OPTIONS})
  endif()
  set_property(GLOBAL APPEND PROPERTY POLYKERN_LIBRARIES polykern_${name})

  if(BUILD_TESTING)
    add_test(NAME includes.${name} COMMAND ${CMAKE_COMMAND}
      -DSOURCE=${PROJECT_SOURCE_DIR}/src/polykern -DNAME=${name} -DPURE=${arg_PURE} "-DFOLDERS=${folders}"
      "-DMAY_INCLUDE=${may_include}" -P ${PROJECT_SOURCE_DIR}/cmake/check_includes.cmake)
    set_tests_properties(includes.${name} PROPERTIES LABELS lint)
  endif()
  if(NOT arg_FOLDERS)
    polykern_tests(${name} ${name})
  endif()
endfunction()
