#include "submix/model/safetensors.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "submix/base/check.h"
#include "submix/base/json_object.h"
#include "submix/model/half_float.h"
#include "submix/model/safetensors_header.h"

namespace submix::model {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

base::Status OpenError(const std::string& path, const char* action, int error) {
  std::string message = path + ": " + action + " failed: " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR) return base::NotFoundError(std::move(message));
  return base::InternalError(std::move(message));
}

// A whole file, read-only. Our writers replace files and never shrink them, so that the pages stay.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  static base::StatusOr<Mapping> Open(const std::string& path) {
    // Without O_NONBLOCK a pipe in the file's place would make us wait for ever.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return OpenError(path, "open", errno);
    base::StatusOr<Mapping> mapping = OfDescriptor(path, fd);
    ::close(fd);
    return mapping;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static base::StatusOr<Mapping> OfDescriptor(const std::string& path, int fd) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return OpenError(path, "stat", errno);
    if (!S_ISREG(info.st_mode)) return base::DataLossError(path + ": not a regular file");
    const auto size = static_cast<std::size_t>(info.st_size);
    Mapping mapping;
    if (size == 0) return mapping;  // mmap refuses zero bytes
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) return OpenError(path, "mmap", errno);
    mapping.bytes_ = {static_cast<const std::byte*>(address), size};
    return mapping;
  }

  std::span<const std::byte> bytes_;
};

class MappedFile final : public SafetensorsFile {
 public:
  MappedFile(std::string path, Mapping mapping) : path_(std::move(path)) {
    mapping_ = std::move(mapping);
  }

  base::Status Parse() {
    const std::span<const std::byte> bytes = mapping_.bytes();
    if (bytes.size() < kLengthBytes) {
      return base::DataLossError(path_ + ": truncated: " + std::to_string(bytes.size()) +
                                 " bytes, a header length alone takes 8");
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    const std::span<const std::byte> rest = bytes.subspan(kLengthBytes);
    if (length > kMaxHeaderBytes || length > rest.size()) {
      return base::DataLossError(path_ + ": header length " + std::to_string(length) +
                                 " does not fit; the file is truncated or not safetensors");
    }
    const auto header_bytes = static_cast<std::size_t>(length);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), header_bytes);
    const std::span<const std::byte> buffer = rest.subspan(header_bytes);
    SUBMIX_ASSIGN_OR_RETURN(SafetensorsHeader header,
                            ParseSafetensorsHeader(text, buffer.size(), path_));
    for (auto& [name, entry] : header.entries) {
      tensors_.emplace(name, TensorView{entry.dtype, std::move(entry.shape),
                                        buffer.subspan(entry.begin, entry.end - entry.begin)});
    }
    metadata_ = std::move(header.metadata);
    return base::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::map<std::string, TensorView, std::less<>>& tensors() const override {
    return tensors_;
  }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

 private:
  std::string path_;
  Mapping mapping_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

template <typename Widen>
void Widen16(std::span<const std::byte> bytes, std::span<float> out, Widen widen) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
    out[i] = widen(bits);
  }
}

}  // namespace

std::size_t DtypeBytes(Dtype dtype) { return dtype == Dtype::kF32 ? 4 : 2; }

std::int64_t TensorView::num_elements() const {
  return static_cast<std::int64_t>(bytes.size() / DtypeBytes(dtype));
}

std::string ShapeText(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

base::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(Mapping mapping, Mapping::Open(path));
  auto file = std::make_unique<MappedFile>(path, std::move(mapping));
  SUBMIX_RETURN_IF_ERROR(file->Parse());
  return std::unique_ptr<SafetensorsFile>(std::move(file));
}

base::StatusOr<std::vector<float>> SafetensorsFile::Read(
    std::string_view name, std::span<const std::int64_t> expected_shape) const {
  const auto found = tensors().find(name);
  if (found == tensors().end()) {
    return base::NotFoundError(path() + ": no tensor " + base::Quoted(name));
  }
  const TensorView& tensor = found->second;
  if (ShapeText(tensor.shape) != ShapeText(expected_shape)) {
    return base::DataLossError(path() + ": tensor " + base::Quoted(name) + ": expected " +
                               ShapeText(expected_shape) + ", found " + ShapeText(tensor.shape));
  }
  std::vector<float> values(static_cast<std::size_t>(tensor.num_elements()));
  ConvertToFloat(tensor, values);
  return values;
}

void ConvertToFloat(const TensorView& tensor, std::span<float> out) {
  ConvertToFloat(tensor.dtype, tensor.bytes, out);
}

void ConvertToFloat(Dtype dtype, std::span<const std::byte> bytes, std::span<float> out) {
  SUBMIX_CHECK(out.size() * DtypeBytes(dtype) == bytes.size(),
               "the output must have as many elements as the tensor");
  switch (dtype) {
    case Dtype::kF32:
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case Dtype::kF16:
      return Widen16(bytes, out, FloatFromHalf);
    case Dtype::kBf16:
      return Widen16(bytes, out, FloatFromBfloat16);
  }
}

}  // namespace submix::model
