#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/half_float.h"
#include "submix/model/safetensors.h"

namespace submix::model {
namespace {

void CheckElements(const NamedTensor& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= size;
  SUBMIX_CHECK(elements == static_cast<std::int64_t>(tensor.values.size()),
               "a tensor's values must fill its shape");
}

std::vector<const NamedTensor*> InNameOrder(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) {
    CheckElements(tensor);
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    SUBMIX_CHECK(order[i - 1]->name != order[i]->name, "tensor names must be unique");
  }
  return order;
}

// Length, JSON and the spaces that align the tensors to 8 bytes. Adds the tensors' bytes to
// `total_bytes`.
std::string HeaderText(const std::vector<const NamedTensor*>& tensors, Dtype dtype,
                       const std::map<std::string, std::string>& metadata,
                       std::size_t& total_bytes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const NamedTensor* tensor : tensors) {
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
  std::array<std::uint16_t, 4096> piece{};
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), piece.size());
    std::transform(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count),
                   piece.begin(), narrow);
    content.append(reinterpret_cast<const char*>(piece.data()), 2 * count);
    values = values.subspan(count);
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
  }
}

}  // namespace

base::Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors,
                              Dtype dtype, const std::map<std::string, std::string>& metadata) {
  const std::vector<const NamedTensor*> order = InNameOrder(tensors);
  std::string content;
  try {
    std::size_t tensor_bytes = 0;
    const std::string header = HeaderText(order, dtype, metadata, tensor_bytes);
    content.reserve(header.size() + tensor_bytes);
    content.append(header);
    for (const NamedTensor* tensor : order) AppendValues(content, tensor->values, dtype);
  } catch (const std::bad_alloc&) {
    return base::ResourceExhaustedError(path + ": not enough memory to write it");
  } catch (const nlohmann::json::exception&) {
    return base::InvalidArgumentError(path + ": a tensor name or metadata is not UTF-8");
  }
  return base::WriteFile(path, content);
}

}  // namespace submix::model
