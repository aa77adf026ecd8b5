#include "submix/model/safetensors_header.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "submix/base/json_object.h"

namespace submix::model {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

base::Status TensorError(const std::string& path, const std::string& name,
                         const std::string& problem) {
  return base::DataLossError(path + ": tensor " + base::Quoted(name) + ": " + problem);
}

// The same message as kDataLoss: a wrong header is damage, not the caller's argument.
base::Status AsDataLoss(const base::Status& status) {
  if (status.code() != base::StatusCode::kInvalidArgument) return status;
  return base::DataLossError(status.message());
}

base::StatusOr<Dtype> ParseDtype(const std::string& text, const std::string& path,
                                 const std::string& name) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    if (text == DtypeName(dtype)) return dtype;
  }
  return base::UnimplementedError(path + ": tensor " + base::Quoted(name) + ": dtype " +
                                  base::Quoted(text) +
                                  " is not supported; convert it to F32, F16 or BF16");
}

// The product of shape and element size, or an error if no file can hold it.
base::StatusOr<std::size_t> TensorBytes(const SafetensorsHeader::Entry& entry,
                                        const std::string& path, const std::string& name) {
  std::size_t bytes = DtypeBytes(entry.dtype);
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) {
      return TensorError(path, name, "shape " + ShapeText(entry.shape) + " overflows");
    }
  }
  return bytes;
}

base::StatusOr<SafetensorsHeader::Entry> ParseEntry(const base::JsonObject& json,
                                                    std::size_t buffer_size,
                                                    const std::string& path,
                                                    const std::string& name) {
  for (const std::string& field : json.fields()) {
    if (field != "dtype" && field != "shape" && field != "data_offsets") {
      return TensorError(path, name, "unknown field " + base::Quoted(field));
    }
  }
  SafetensorsHeader::Entry entry;
  SUBMIX_ASSIGN_OR_RETURN(const std::string dtype, json.Text("dtype"));
  SUBMIX_ASSIGN_OR_RETURN(entry.dtype, ParseDtype(dtype, path, name));
  SUBMIX_ASSIGN_OR_RETURN(entry.shape, json.Integers("shape", 0, INT64_MAX));
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> offsets,
                          json.Integers("data_offsets", 0, INT64_MAX));
  if (offsets.size() != 2) return TensorError(path, name, "expected two data_offsets");
  entry.begin = static_cast<std::size_t>(offsets[0]);
  entry.end = static_cast<std::size_t>(offsets[1]);
  if (entry.begin > entry.end || entry.end > buffer_size) {
    return TensorError(path, name,
                       "data_offsets " + ShapeText(offsets) + " are not within the " +
                           std::to_string(buffer_size) + " bytes behind the header");
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t bytes, TensorBytes(entry, path, name));
  if (bytes != entry.end - entry.begin) {
    return TensorError(path, name,
                       dtype + " " + ShapeText(entry.shape) + " needs " + std::to_string(bytes) +
                           " bytes, data_offsets give " + std::to_string(entry.end - entry.begin));
  }
  return entry;
}

// The format demands that the tensors cover the buffer: no overlap, no hole, nothing behind.
base::Status CheckCoverage(const SafetensorsHeader& header, std::size_t buffer_size,
                           const std::string& path) {
  using Named = std::pair<const std::string, SafetensorsHeader::Entry>;
  std::vector<const Named*> order;
  for (const Named& named : header.entries) order.push_back(&named);
  std::sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::size_t covered = 0;
  for (const Named* named : order) {
    const std::size_t begin = named->second.begin;
    if (begin != covered) {
      const std::string problem =
          begin < covered ? "overlaps another tensor" : "leaves a hole before it";
      return TensorError(path, named->first,
                         problem + "; starts at byte " + std::to_string(begin) + ", expected " +
                             std::to_string(covered));
    }
    covered = named->second.end;
  }
  if (covered != buffer_size) {
    return base::DataLossError(path + ": " + std::to_string(buffer_size - covered) +
                               " bytes behind the last tensor");
  }
  return base::OkStatus();
}

base::StatusOr<SafetensorsHeader> ParseEntries(const base::JsonObject& json,
                                               std::size_t buffer_size, const std::string& path) {
  SafetensorsHeader header;
  for (const std::string& name : json.fields()) {
    if (name == kMetadata) {
      SUBMIX_ASSIGN_OR_RETURN(header.metadata, json.TextMap(name));
      continue;
    }
    SUBMIX_ASSIGN_OR_RETURN(const base::JsonObject object, json.Object(name));
    SUBMIX_ASSIGN_OR_RETURN(SafetensorsHeader::Entry entry,
                            ParseEntry(object, buffer_size, path, name));
    header.entries.emplace(name, std::move(entry));
  }
  SUBMIX_RETURN_IF_ERROR(CheckCoverage(header, buffer_size, path));
  return header;
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
  }
  return "";
}

base::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text,
                                                         std::size_t buffer_size,
                                                         const std::string& path) {
  if (!text.starts_with('{')) {
    return base::DataLossError(path + ": the header does not begin with '{'; is it safetensors?");
  }
  const base::StatusOr<base::JsonObject> json = base::JsonObject::Parse(text, path);
  if (!json.ok()) return AsDataLoss(json.status());
  base::StatusOr<SafetensorsHeader> header = ParseEntries(*json, buffer_size, path);
  if (!header.ok()) return AsDataLoss(header.status());
  return header;
}

}  // namespace submix::model
