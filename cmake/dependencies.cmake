# Every package from outside, found once. Reasons: docs/dependencies.md.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(lzma REQUIRED IMPORTED_TARGET liblzma)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(dnnl REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # oneDNN's own threads, kept to one
if(SUBMIX_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(SUBMIX_BUILD_TRAIN)
  # Debian's libtorch names its own include directories; any newer one by -DCMAKE_PREFIX_PATH.
  find_package(Torch REQUIRED)
endif()
