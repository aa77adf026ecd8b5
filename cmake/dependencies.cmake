# Every package from outside, found once. Reasons: docs/dependencies.md.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(archive REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
find_library(csv_LIBRARY csv REQUIRED)  # libcsv has no pkg-config file
add_library(csv UNKNOWN IMPORTED)
set_target_properties(csv PROPERTIES IMPORTED_LOCATION ${csv_LIBRARY})
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
if(SUBMIX_BUILD_POSTGRES)
  pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
endif()
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED)  # headers only
# Debian's dnnl-config.cmake asks for the development files of OpenCL, which nobody needs here.
find_path(dnnl_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(dnnl_LIBRARY dnnl REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES
  IMPORTED_LOCATION ${dnnl_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${dnnl_INCLUDE_DIR})
# What Debian's oneDNN runs on; clang's own OpenMP would be a second run-time in the process.
find_library(gomp_LIBRARY NAMES libgomp.so.1 gomp REQUIRED)
add_library(gomp UNKNOWN IMPORTED)
set_target_properties(gomp PROPERTIES IMPORTED_LOCATION ${gomp_LIBRARY})
if(SUBMIX_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(SUBMIX_BUILD_TRAIN)
  # Debian's libtorch names its own include directories; any newer one by -DCMAKE_PREFIX_PATH.
  find_package(Torch REQUIRED)
  # Optional: training by several processes.
  find_package(MPI COMPONENTS C)
endif()
if(SUBMIX_INSTALL)
  # Optional: man pages.
  find_package(Python3 COMPONENTS Interpreter)
  find_program(SUBMIX_HELP2MAN help2man)
endif()
