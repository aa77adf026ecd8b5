// Sanitizers bring an operator new of their own; under them nothing is counted.
#include "tests/predictors/allocation_counter.h"

#ifdef SUBMIX_SANITIZED

namespace submix {

std::optional<std::int64_t> AllocationsSoFar() { return std::nullopt; }

}  // namespace submix

#else

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> allocations = 0;

void* Allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace submix {

std::optional<std::int64_t> AllocationsSoFar() { return allocations; }

}  // namespace submix

void* operator new(std::size_t size) { return Allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif  // SUBMIX_SANITIZED
