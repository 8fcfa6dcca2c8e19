# cmake -DSOURCE=<dir> -P check_options.cmake
# A library does not know how its user spells options: its texts name them with OptionName or, in whole
# commands, ShellSpelling (core/error.h). So no string literal of it has an option's dashes.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files ${SOURCE}/src/polykern/*.h ${SOURCE}/src/polykern/*.cc
  ${SOURCE}/python/src/*.h ${SOURCE}/python/src/*.cc)
list(FILTER files EXCLUDE REGEX "_test\\.cc$")
if(NOT files)
  message(FATAL_ERROR "there are no sources in ${SOURCE}")
endif()
foreach(file IN LISTS files)
  file(READ ${file} text)
  string(REGEX REPLACE "[][;]" " " text "${text}")  # which CMake's lists take for their own
  # Whichever begins first: a comment may hold quotes, a literal two slashes.
  string(REGEX MATCHALL "//[^\n]*|'(\\\\.|[^'\\\n])'|\"(\\\\.|[^\"\\\n])*\"" parts "${text}")
  foreach(part IN LISTS parts)
    if(part MATCHES "^\".*--[a-z]")
      message(SEND_ERROR "${file}: ${part}\n  use OptionName(\"key\"), or ShellSpelling within a command")
    endif()
  endforeach()
endforeach()
