#include "submix/ledger/sqlite_shared_memory.h"

#include <cerrno>
#include <cstdint>

#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

namespace submix::ledger {
namespace {

constexpr char kName[] = "submix";

// SQLite's own for this system.
sqlite3_vfs* SystemFiles() {
  static sqlite3_vfs* const files = sqlite3_vfs_find(nullptr);
  return files;
}
decltype(sqlite3_io_methods::xShmMap) system_map = nullptr;

// Writes to each page what it holds, which takes the blocks that it lacks.
bool Fill(volatile void* memory, int bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = begin / page * page;
  const std::size_t size = begin + static_cast<std::uintptr_t>(bytes) - first;
  const int result = ::madvise(reinterpret_cast<void*>(first), size, MADV_POPULATE_WRITE);
  return result == 0 || errno == EINVAL;  // EINVAL: a kernel that cannot
}

int MapWithoutHoles(sqlite3_file* file, int region, int bytes, int extend, void volatile** memory) {
  const int result = system_map(file, region, bytes, extend, memory);
  if (result != SQLITE_OK || *memory == nullptr || Fill(*memory, bytes)) return result;
  *memory = nullptr;  // so that SQLite asks again
  return SQLITE_FULL;
}

int OpenWithoutHoles(sqlite3_vfs* files, const char* path, sqlite3_file* file, int flags,
                     int* flags_out) {
  const int result = SystemFiles()->xOpen(files, path, file, flags, flags_out);
  if (result != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return result;
  static const sqlite3_io_methods* const system = file->pMethods;
  static const sqlite3_io_methods without_holes = [] {
    sqlite3_io_methods methods = *system;
    system_map = methods.xShmMap;
    methods.xShmMap = MapWithoutHoles;
    return methods;
  }();
  if (file->pMethods == system) file->pMethods = &without_holes;
  return result;
}

}  // namespace

const char* FileSystemWithoutHoles() {
  static sqlite3_vfs files = [] {
    sqlite3_vfs copy = *SystemFiles();
    copy.pNext = nullptr;
    copy.zName = kName;
    copy.xOpen = OpenWithoutHoles;
    return copy;
  }();
  static const bool is_known = sqlite3_vfs_register(&files, /*makeDflt=*/0) == SQLITE_OK;
  return is_known ? kName : nullptr;
}

}  // namespace submix::ledger
