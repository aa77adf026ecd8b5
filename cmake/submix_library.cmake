# submix_library(NAME accounting SRCS … HDRS … DEPS … TESTS … )
#
# One room: the static library submix_<name> with the alias submix::<name>, its headers (each must
# compile alone), and the tests beside its sources. Sources are listed by hand, no globs.
#   DEPS          linked publicly: rooms (submix::base) or packages
#   PRIVATE_DEPS  linked privately: packages whose types stay out of our headers
#   TESTS         x_test.cc files, one program together: <room>_tests
#   TEST_DEPS     further libraries of the tests
#   LABELS        ctest labels of TESTS (default: unit)
#   COMPUTES_LITTLE  not optimised under sanitizers, where that would be a third of what compiling takes
#   FUZZED        reads bytes that others wrote: where tests/fuzz is built, libFuzzer sees its branches, and it
#                 has all checks of the undefined-behaviour sanitizer
function(submix_library)
  cmake_parse_arguments(ARG "COMPUTES_LITTLE;FUZZED" "NAME" "SRCS;HDRS;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS;LABELS" ${ARGN})
  set(target submix_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SRCS})
  add_library(submix::${ARG_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HDRS})
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  submix_compile_options(${target})
  set(options "")
  if(ARG_COMPUTES_LITTLE AND SUBMIX_SANITIZE)
    list(APPEND options -O0)
  endif()
  if(ARG_FUZZED)
    list(APPEND options ${SUBMIX_FUZZED_OPTIONS})
  endif()
  target_compile_options(${target} PRIVATE ${options})
  submix_reuse_standard_headers(${target} "${options}")
  submix_room_tests(${ARG_NAME} "${ARG_TESTS}" "${target};${ARG_TEST_DEPS}" "${ARG_LABELS}")
endfunction()

# submix_fuzzed(x.cc …): as FUZZED, sources of a room that only computes otherwise.
function(submix_fuzzed)
  if(SUBMIX_FUZZED_OPTIONS)
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_OPTIONS "${SUBMIX_FUZZED_OPTIONS}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# submix_vectorise(x.cc …): loops over floats that -O2 leaves scalar, as do a sanitizer's checks at any level.
# Neither flag changes a result.
function(submix_vectorise)
  set(level -O3 -U_GLIBCXX_ASSERTIONS)  # a check of each index would leave them scalar, too
  if(SUBMIX_SANITIZE)
    set(level -O1)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS "${level};-fno-math-errno;-Wno-psabi" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# One program for a room's tests, since linking each alone takes longer than compiling it; a ctest entry
# a source, <room>_<x>_test, in a process of its own.
function(submix_room_tests room sources deps labels)
  if(NOT SUBMIX_BUILD_TESTS OR NOT sources)
    return()
  endif()
  if(NOT labels)
    set(labels unit)
  endif()
  submix_test_program(${room}_tests "${sources}" "${deps}")
  # Joined where the products are: each source has a namespace of its own.
  if(CMAKE_UNITY_BUILD)
    set_target_properties(${room}_tests PROPERTIES UNITY_BUILD ON)
  endif()
  submix_test_entries(${room}_tests ${room} "${sources}" "${labels}")
endfunction()

# The ctest entries of a room's sources in a program.
function(submix_test_entries program room sources labels)
  foreach(source IN LISTS sources)
    get_filename_component(name ${room}_${source} NAME_WLE)
    submix_filter_of_source(filter ${source})
    add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600
                         FAIL_REGULAR_EXPRESSION "Running 0 tests")
    set_property(GLOBAL PROPERTY SUBMIX_PROGRAM_${name} ${program})
    set_property(GLOBAL PROPERTY SUBMIX_FILTER_${name} ${filter})
  endforeach()
  submix_collect_tests("${labels}" ${program})
endfunction()

# GoogleTest's filter for the suites that a source defines, parametrised and typed ones too.
function(submix_filter_of_source result source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} lines REGEX "^(TYPED_)?TEST(_F|_P)?\\(")
  set(filters "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[A-Z_]*\\(([A-Za-z0-9]*),.*" "\\1" suite "${line}")
    list(APPEND filters "${suite}.*" "*/${suite}.*" "${suite}/*")
  endforeach()
  list(REMOVE_DUPLICATES filters)
  list(JOIN filters ":" joined)
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()

# submix_test(NAME room_x_test.cc SOURCE x_test.cc DEPS … LABELS …): a GoogleTest program of its own, one
# ctest entry.
function(submix_test)
  if(NOT SUBMIX_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NAME;SOURCE;TIMEOUT" "DEPS;LABELS" ${ARGN})
  get_filename_component(name ${ARG_NAME} NAME_WLE)
  submix_test_program(${name} "${ARG_SOURCE}" "${ARG_DEPS}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  set_property(GLOBAL PROPERTY SUBMIX_PROGRAM_${name} ${name})
  set_property(GLOBAL PROPERTY SUBMIX_FILTER_${name} "*")
  submix_collect_tests("${ARG_LABELS}" ${name})
endfunction()

function(submix_test_program name sources deps)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${deps} submix_base_testing GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    SUBMIX_TESTDATA_DIR="${PROJECT_SOURCE_DIR}/testdata" SUBMIX_DATA_DIR="${PROJECT_SOURCE_DIR}/data"
    SUBMIX_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  submix_test_compile_options(${name})
  submix_reuse_test_headers(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests UNITY_BUILD OFF)
endfunction()

# Targets submix_thread_tests and submix_shipped_tests: the programs of tests with these labels, all that the
# thread sanitizer's build needs, and what `./dev test` runs in the release.
function(submix_collect_tests labels)
  foreach(label IN ITEMS thread shipped)
    if(NOT TARGET submix_${label}_tests)
      add_custom_target(submix_${label}_tests)
    endif()
    if(label IN_LIST labels)
      add_dependencies(submix_${label}_tests ${ARGN})
    endif()
  endforeach()
endfunction()

# What most rooms include of other libraries, read once by clang for all that are compiled with these options. gcc
# is hardly faster by it, and then takes std::string's own code for ours and warns of it falsely.
function(submix_reuse_standard_headers target options)
  if(NOT CMAKE_UNITY_BUILD OR NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    return()
  endif()
  string(MAKE_C_IDENTIFIER "submix_standard_headers${options}" headers)
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/standard_headers.cc CONTENT "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/standard_headers.cc)
    submix_compile_options(${headers})
    target_compile_options(${headers} PRIVATE ${options})
    target_precompile_headers(${headers} PRIVATE <algorithm> <chrono> <cmath> <filesystem> <fstream> <functional> <map>
      <memory> <optional> <random> <set> <span> <sstream> <string> <thread> <vector> <nlohmann/json.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# Half of what compiling a test takes is reading GoogleTest: read once, for all.
function(submix_reuse_test_headers test)
  if(NOT TARGET submix_test_headers)
    # A program, since code for libraries is compiled otherwise.
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
    add_executable(submix_test_headers ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(submix_test_headers PRIVATE GTest::gmock)
    submix_test_compile_options(submix_test_headers)
    target_precompile_headers(submix_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${test} REUSE_FROM submix_test_headers)
endfunction()

# What the tests and what they read once must be compiled with alike.
function(submix_test_compile_options target)
  submix_compile_options(${target})
  # gcc 12 takes std::string's own code, once precompiled, for ours, and warns of it falsely.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds
    -Wno-stringop-overflow -Wno-stringop-overread>)
  # Half of the rest would go into optimising GoogleTest's templates; what computes is in the rooms.
  target_compile_options(${target} PRIVATE -O0)
  # And a quarter of that into checking them: the checks are for the rooms' code, wherever memory comes from.
  if(SUBMIX_SANITIZE AND NOT SUBMIX_SANITIZE MATCHES thread)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  # The preset `dev` is for the debugger.
  if(CMAKE_UNITY_BUILD)
    target_compile_options(${target} PRIVATE -g0)
  endif()
endfunction()

# Warnings, no fast-math, for everything of ours.
function(submix_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false alarms of gcc 12 in std::string
    $<$<BOOL:${SUBMIX_DEVELOPER_MODE}>:-Werror>)
endfunction()
