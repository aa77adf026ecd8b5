#include "tests/server/entered_functions.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <sstream>

#include <cxxabi.h>
#include <dlfcn.h>

#ifndef SUBMIX_COUNTS_FUNCTIONS

namespace submix {

bool CountsEnteredFunctions() { return false; }
void BeginCountingFunctions() {}
EnteredFunctions EndCountingFunctions() { return {}; }

}  // namespace submix

#else

namespace {

// Open addressing: counting must not allocate, nor lock.
struct Slot {
  std::atomic<const void*> function = nullptr;
  std::atomic<std::int64_t> entered = 0;
};
constexpr std::size_t kSlots = 1 << 14;
std::array<Slot, kSlots> slots;
std::atomic<bool> counting = false;

}  // namespace

extern "C" {

void __cyg_profile_func_enter(void* function, void* /*caller*/) {
  if (!counting.load(std::memory_order_relaxed)) return;
  std::size_t i = (reinterpret_cast<std::uintptr_t>(function) >> 4) % kSlots;
  for (;; i = (i + 1) % kSlots) {
    const void* found = nullptr;
    if (slots[i].function.compare_exchange_strong(found, function) || found == function) break;
  }
  slots[i].entered.fetch_add(1, std::memory_order_relaxed);
}

void __cyg_profile_func_exit(void* /*function*/, void* /*caller*/) {}

}  // extern "C"

namespace submix {

bool CountsEnteredFunctions() { return true; }

void BeginCountingFunctions() {
  for (Slot& slot : slots) slot.entered = 0;
  counting = true;
}

EnteredFunctions EndCountingFunctions() {
  counting = false;
  EnteredFunctions entered;
  for (const Slot& slot : slots) {
    if (slot.entered > 0) entered[slot.function] = slot.entered;
  }
  return entered;
}

}  // namespace submix

#endif  // SUBMIX_COUNTS_FUNCTIONS

namespace submix {

std::string NameOf(const void* function) {
  std::ostringstream name;
  Dl_info info{};
  if (dladdr(function, &info) == 0) {
    name << function;
    return name.str();
  }
  if (info.dli_sname != nullptr && info.dli_saddr == function) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    name << (status == 0 ? demangled : info.dli_sname);
    std::free(demangled);
    return name.str();
  }
  name << "addr2line -Cife " << info.dli_fname << " 0x" << std::hex
       << (static_cast<const char*>(function) - static_cast<const char*>(info.dli_fbase));
  return name.str();
}

}  // namespace submix
