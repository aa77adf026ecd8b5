// The safetensors format: an 8-byte little-endian header length, a JSON header, then the tensors.
// Read by mmap; every lie of a header is refused before a byte of it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

namespace submix::model {

// kOther: integers, truth values, floats of other sizes: they can be there, but not be read.
enum class Dtype { kF32, kF16, kBf16, kOther };
std::string_view DtypeName(Dtype dtype);  // "F32", "F16", "BF16"
std::size_t DtypeBytes(Dtype dtype);      // requires: not kOther

// A view into a mapped file: little-endian, row-major, perhaps unaligned.
struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // of kOther, as many as the file says
  std::string other_dtype = {};      // "U8", of kOther

  std::int64_t num_elements() const;  // requires: not kOther
};

// "[768, 2304]".
std::string ShapeText(std::span<const std::int64_t> shape);

// A mapped file. Immutable, thread-safe.
class SafetensorsFile {
 public:
  // Errors: kNotFound; kDataLoss naming file, tensor and what is wrong (truncated, overlapping or
  // missing bytes, sizes that do not fit shapes, duplicate names, overflow, a pointer of Git LFS);
  // kInternal if the system refuses to read it.
  static base::StatusOr<std::unique_ptr<SafetensorsFile>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // "" where there is none of this name.
  std::string Metadata(const std::string& name) const {
    const auto found = metadata_.find(name);
    return found == metadata_.end() ? std::string() : found->second;
  }

  // The tensor as it lies in the file. Errors: kNotFound naming file and tensor; kUnimplemented for
  // kOther; kDataLoss if the shape is not `expected_shape`.
  base::StatusOr<TensorView> Find(std::string_view name,
                                  std::span<const std::int64_t> expected_shape) const;
  // The same as floats. Errors: those of Find.
  base::StatusOr<std::vector<float>> Read(std::string_view name,
                                          std::span<const std::int64_t> expected_shape) const;

 private:
  // `bytes` is the whole file.
  base::Status Parse(std::span<const std::byte> bytes);
  base::Status ParseHeader(std::string_view text, std::span<const std::byte> buffer);

  std::string path_;
  std::shared_ptr<void> mapping_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Whether no element is infinite or NaN. Requires: not kOther.
bool IsFinite(const TensorView& tensor);

// Conversion of one tensor, exact for F16 and BF16. Requires: out.size() == num_elements().
void ConvertToFloat(const TensorView& tensor, std::span<float> out);
std::vector<float> ToFloats(const TensorView& tensor);
// The same for a run of `out.size()` elements.
void ConvertToFloat(Dtype dtype, std::span<const std::byte> bytes, std::span<float> out);

struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

// Writes atomically and durably; values are rounded to `dtype` (nearest even). Tensors are laid out
// in name order so that equal content gives equal bytes. Requires: unique names; values that fill
// the shapes. Errors: kInvalidArgument (a name or metadata that is not UTF-8), kResourceExhausted,
// kInternal.
base::Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors,
                              Dtype dtype, const std::map<std::string, std::string>& metadata);

}  // namespace submix::model
