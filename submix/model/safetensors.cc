#include "submix/model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/model/half_float.h"

namespace submix::model {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

constexpr std::string_view kMetadata = "__metadata__";

base::Status TensorError(const std::string& path, const std::string& name,
                         const std::string& problem) {
  return base::DataLossError(path + ": tensor " + base::Quoted(name) + ": " + problem);
}

Dtype ParseDtype(std::string_view text) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    if (text == DtypeName(dtype)) return dtype;
  }
  return Dtype::kOther;
}

// The product of shape and element size, or an error if no file can hold it.
base::StatusOr<std::size_t> TensorBytes(const TensorView& tensor, const std::string& path,
                                        const std::string& name) {
  std::size_t bytes = DtypeBytes(tensor.dtype);
  for (const std::int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) {
      return TensorError(path, name, "shape " + ShapeText(tensor.shape) + " overflows");
    }
  }
  return bytes;
}

base::StatusOr<TensorView> ParseTensor(const base::JsonObject& json,
                                       std::span<const std::byte> buffer, const std::string& path,
                                       const std::string& name) {
  for (const std::string& field : json.fields()) {
    if (field != "dtype" && field != "shape" && field != "data_offsets") {
      return TensorError(path, name, "unknown field " + base::Quoted(field));
    }
  }
  TensorView tensor;
  SUBMIX_ASSIGN_OR_RETURN(const std::string dtype, json.Text("dtype"));
  tensor.dtype = ParseDtype(dtype);
  SUBMIX_ASSIGN_OR_RETURN(tensor.shape, json.Integers("shape", 0, INT64_MAX));
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> offsets,
                          json.Integers("data_offsets", 0, INT64_MAX));
  if (offsets.size() != 2) return TensorError(path, name, "expected two data_offsets");
  const auto begin = static_cast<std::size_t>(offsets[0]);
  const auto end = static_cast<std::size_t>(offsets[1]);
  if (begin > end || end > buffer.size()) {
    return TensorError(path, name,
                       "data_offsets " + ShapeText(offsets) + " are not within the " +
                           std::to_string(buffer.size()) + " bytes behind the header");
  }
  tensor.bytes = buffer.subspan(begin, end - begin);
  if (tensor.dtype == Dtype::kOther) {
    tensor.other_dtype = dtype;
    return tensor;
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t bytes, TensorBytes(tensor, path, name));
  if (bytes != tensor.bytes.size()) {
    return TensorError(path, name,
                       dtype + " " + ShapeText(tensor.shape) + " needs " + std::to_string(bytes) +
                           " bytes, data_offsets give " + std::to_string(tensor.bytes.size()));
  }
  return tensor;
}

using Tensors = std::map<std::string, TensorView, std::less<>>;

// The format demands that the tensors cover the buffer: no overlap, no hole, nothing behind.
base::Status CheckCoverage(const Tensors& tensors, std::span<const std::byte> buffer,
                           const std::string& path) {
  std::vector<const Tensors::value_type*> order;
  for (const auto& named : tensors) order.push_back(&named);
  std::ranges::sort(order, {}, [](const auto* named) {
    const std::byte* const begin = named->second.bytes.data();
    return std::pair(begin, begin + named->second.bytes.size());
  });
  std::size_t covered = 0;
  for (const auto* named : order) {
    const auto begin = static_cast<std::size_t>(named->second.bytes.data() - buffer.data());
    if (begin != covered) {
      const std::string problem =
          begin < covered ? "overlaps another tensor" : "leaves a hole before it";
      return TensorError(path, named->first,
                         problem + "; starts at byte " + std::to_string(begin) + ", expected " +
                             std::to_string(covered));
    }
    covered += named->second.bytes.size();
  }
  if (covered != buffer.size()) {
    return base::DataLossError(path + ": " + std::to_string(buffer.size() - covered) +
                               " bytes behind the last tensor");
  }
  return base::OkStatus();
}

template <typename Widen>
void Widen16(std::span<const std::byte> bytes, std::span<float> out, Widen widen) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
    out[i] = widen(bits);
  }
}

}  // namespace

std::string_view DtypeName(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return "F32";
    case Dtype::kF16:
      return "F16";
    case Dtype::kBf16:
      return "BF16";
    case Dtype::kOther:
      break;
  }
  return "";
}

std::size_t DtypeBytes(Dtype dtype) {
  SUBMIX_CHECK(dtype != Dtype::kOther, "a tensor of this type is not read");
  return dtype == Dtype::kF32 ? 4 : 2;
}

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
  SUBMIX_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MapFile(path));
  auto file = std::make_unique<SafetensorsFile>();
  file->path_ = path;
  file->mapping_ = mapped.owner;
  const base::Status status = file->Parse(mapped.bytes);
  if (status.ok()) return file;
  // A wrong header is damage, not the caller's argument.
  if (status.code() != base::StatusCode::kInvalidArgument) return status;
  return base::DataLossError(status.message());
}

base::Status SafetensorsFile::Parse(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SUBMIX_RETURN_IF_ERROR(base::CheckIsNoLfsPointer(text, path_));
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
  return ParseHeader({reinterpret_cast<const char*>(rest.data()), header_bytes},
                     rest.subspan(header_bytes));
}

// Checked completely: what the header describes covers the buffer exactly, so that the views are in
// bounds.
base::Status SafetensorsFile::ParseHeader(std::string_view text,
                                          std::span<const std::byte> buffer) {
  if (!text.starts_with('{')) {
    return base::DataLossError(path_ + ": the header does not begin with '{'; is it safetensors?");
  }
  SUBMIX_ASSIGN_OR_RETURN(const base::JsonObject json, base::JsonObject::Parse(text, path_));
  for (const std::string& name : json.fields()) {
    if (name == kMetadata) {
      if (json.IsNull(name)) continue;
      SUBMIX_ASSIGN_OR_RETURN(metadata_, json.TextMap(name));
      continue;
    }
    SUBMIX_ASSIGN_OR_RETURN(const base::JsonObject object, json.Object(name));
    SUBMIX_ASSIGN_OR_RETURN(tensors_[name], ParseTensor(object, buffer, path_, name));
  }
  return CheckCoverage(tensors_, buffer, path_);
}

base::StatusOr<TensorView> SafetensorsFile::Find(
    std::string_view name, std::span<const std::int64_t> expected_shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return base::NotFoundError(path_ + ": tensor " + base::Quoted(name) + ": expected " +
                               ShapeText(expected_shape) + ", found nothing");
  }
  const TensorView& tensor = found->second;
  if (tensor.dtype == Dtype::kOther) {
    return base::UnimplementedError(path_ + ": tensor " + base::Quoted(name) + ": dtype " +
                                    base::Quoted(tensor.other_dtype) +
                                    " is not supported; convert it to F32, F16 or BF16");
  }
  if (!std::ranges::equal(tensor.shape, expected_shape)) {
    return base::DataLossError(path_ + ": tensor " + base::Quoted(name) + ": expected " +
                               ShapeText(expected_shape) + ", found " + ShapeText(tensor.shape));
  }
  return tensor;
}

base::StatusOr<std::vector<float>> SafetensorsFile::Read(
    std::string_view name, std::span<const std::int64_t> expected_shape) const {
  SUBMIX_ASSIGN_OR_RETURN(const TensorView tensor, Find(name, expected_shape));
  return ToFloats(tensor);
}

bool IsFinite(const TensorView& tensor) {
  // Lanes of 64 bits: an exponent of ones alone carries into the lane's highest bit, its sign.
  struct Lanes {
    std::uint64_t exponents, lowest_bits, signs;
  };
  const Lanes lanes =
      tensor.dtype == Dtype::kF32
          ? Lanes{0x7f80'0000'7f80'0000, 0x0080'0000'0080'0000, 0x8000'0000'8000'0000}
      : tensor.dtype == Dtype::kF16
          ? Lanes{0x7c00'7c00'7c00'7c00, 0x0400'0400'0400'0400, 0x8000'8000'8000'8000}
          : Lanes{0x7f80'7f80'7f80'7f80, 0x0080'0080'0080'0080, 0x8000'8000'8000'8000};
  std::uint64_t carried = 0;
  const std::byte* const data = tensor.bytes.data();
  for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof carried) {
    std::uint64_t bits = 0;
    if (tensor.bytes.size() - at >= sizeof bits) {
      std::memcpy(&bits, data + at, sizeof bits);
    } else {
      std::memcpy(&bits, data + at, tensor.bytes.size() - at);
    }
    carried |= (bits & lanes.exponents) + lanes.lowest_bits;
  }
  return (carried & lanes.signs) == 0;
}

std::vector<float> ToFloats(const TensorView& tensor) {
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
    case Dtype::kOther:
      return;  // DtypeBytes has refused it
  }
}

// --- Writing

namespace {

using TensorsByName = std::map<std::string_view, const NamedTensor*>;

TensorsByName InNameOrder(std::span<const NamedTensor> tensors) {
  TensorsByName by_name;
  for (const NamedTensor& tensor : tensors) {
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) elements *= size;
    SUBMIX_CHECK(elements == std::ssize(tensor.values), "a tensor's values must fill its shape");
    SUBMIX_CHECK(by_name.emplace(tensor.name, &tensor).second, "tensor names must be unique");
  }
  return by_name;
}

// Length, JSON and the spaces that align the tensors to 8 bytes. Adds the tensors' bytes to
// `total_bytes`.
std::string HeaderText(const TensorsByName& tensors, Dtype dtype,
                       const std::map<std::string, std::string>& metadata,
                       std::size_t& total_bytes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t end = total_bytes + tensor->values.size() * DtypeBytes(dtype);
    json[tensor->name] = {{"dtype", DtypeName(dtype)},
                          {"shape", tensor->shape},
                          {"data_offsets", {total_bytes, end}}};
    total_bytes = end;
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::array<char, 8> length{};
  const std::uint64_t size = text.size();
  std::memcpy(length.data(), &size, length.size());
  return std::string(length.data(), length.size()) + text;
}

template <typename Narrow>
void AppendNarrowed(std::string& content, std::span<const float> values, Narrow narrow) {
  for (const float value : values) {
    const std::uint16_t bits = narrow(value);
    content.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
}

void AppendValues(std::string& content, std::span<const float> values, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      content.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
      return;
    case Dtype::kF16:
      return AppendNarrowed(content, values, HalfFromFloat);
    case Dtype::kBf16:
      return AppendNarrowed(content, values, Bfloat16FromFloat);
    case Dtype::kOther:
      return;  // HeaderText has refused it
  }
}

}  // namespace

base::Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors,
                              Dtype dtype, const std::map<std::string, std::string>& metadata) {
  const TensorsByName order = InNameOrder(tensors);
  std::string content;
  try {
    std::size_t tensor_bytes = 0;
    const std::string header = HeaderText(order, dtype, metadata, tensor_bytes);
    content.reserve(header.size() + tensor_bytes);
    content.append(header);
    for (const auto& [name, tensor] : order) AppendValues(content, tensor->values, dtype);
  } catch (const std::bad_alloc&) {
    return base::ResourceExhaustedError(path + ": not enough memory to write it");
  } catch (const nlohmann::json::exception&) {
    return base::InvalidArgumentError(path + ": a tensor name or metadata is not UTF-8");
  }
  return base::WriteFile(path, content);
}

}  // namespace submix::model
