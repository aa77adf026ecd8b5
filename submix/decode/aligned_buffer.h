// Memory for kernels: aligned to a cache line, or to huge pages where it is large. Not initialised
// beyond what the system gives.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace submix::decode {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, AlignmentOf(bytes))),
              Free(AlignmentOf(bytes))),
        bytes_(bytes) {
    if (bytes >= kHugePage) (void)::madvise(data_.get(), bytes, MADV_HUGEPAGE);
  }

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }
  // At least this large; what it held is lost if it grows.
  void Reserve(std::size_t bytes) {
    if (bytes > bytes_) *this = AlignedBuffer(bytes);
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static std::align_val_t AlignmentOf(std::size_t bytes) {
    return std::align_val_t{bytes >= kHugePage ? kHugePage : kLine};
  }
  struct Free {
    Free() : Free(std::align_val_t{kLine}) {}
    explicit Free(std::align_val_t a) : alignment(a) {}
    std::align_val_t alignment;
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace submix::decode
