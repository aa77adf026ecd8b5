#include "submix/decode/packed_weights.h"

#include <cstring>
#include <string_view>
#include <utility>

#include <sys/mman.h>

#include "submix/base/cache_directory.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/log.h"
#include "submix/decode/aligned_buffer.h"

namespace submix::decode {
namespace {

// A cache file: the key as text, zeros up to here, then the packed weights one after another.
constexpr std::size_t kHeaderBytes = 16384;
// Changes whenever the packed form does, or what is checked before.
constexpr int kPackingFormat = 5;

// Everything the packed form depends on: the files' content, wherever they lie. Empty if one cannot
// be read.
std::string CacheKey(const std::vector<PackedWeight>& weights,
                     const std::vector<std::string>& model_files,
                     const std::string& cache_directory) {
  std::string key = "submix packed weights " + std::to_string(kPackingFormat) + "\n";
  for (const std::string& file : model_files) {
    const auto digest = base::CachedSha256(cache_directory, file);
    if (!digest.ok()) return "";
    key += *digest + "\n";
  }
  for (const PackedWeight& weight : weights) {
    const MatrixProduct& product = *weight.product;
    key += std::to_string(product.inputs()) + "x" + std::to_string(product.outputs()) + " format " +
           std::to_string(static_cast<int>(product.format())) + " bytes " +
           std::to_string(product.packed_bytes()) + "\n";
  }
  return key.size() < kHeaderBytes ? key : "";
}

// Room for the header, so that it can be written as it is, then the packed weights.
AlignedBuffer Pack(const std::vector<PackedWeight>& weights,
                   const std::vector<std::size_t>& offsets, std::size_t bytes,
                   base::WorkerTeam& team) {
  AlignedBuffer buffer(kHeaderBytes + bytes);
  std::memset(buffer.data(), 0, kHeaderBytes);
  team.Run([&](int worker) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const MatrixProduct& product = *weights[i].product;
      for (int block = worker; block < product.num_blocks(); block += team.size()) {
        product.Pack(block, weights[i].source, buffer.data() + kHeaderBytes + offsets[i]);
      }
    }
  });
  return buffer;
}

base::Status Save(const AlignedBuffer& buffer, const std::string& key, const std::string& directory,
                  const std::string& name) {
  std::memcpy(buffer.data(), key.data(), key.size());
  return base::WriteCached(directory, name, std::string_view(buffer.as<char>(), buffer.size()));
}

// The cache file's packed weights, if it is there, whole and of this key; else null.
std::shared_ptr<const std::byte> Map(const std::string& path, const std::string& key,
                                     std::size_t bytes) {
  const auto file = base::MapFile(path);
  if (!file.ok() || file->bytes.size() != kHeaderBytes + bytes) return nullptr;
  std::string header(kHeaderBytes, '\0');
  key.copy(header.data(), key.size());
  if (std::memcmp(file->bytes.data(), header.data(), kHeaderBytes) != 0) return nullptr;
  base::NoteUse(path);
  (void)::madvise(file->owner.get(), file->bytes.size(), MADV_WILLNEED);
  return {file->owner, file->bytes.data() + kHeaderBytes};
}

std::string CacheName(const std::string& key) {
  return base::ToHex(base::Sha256(key)).substr(0, 32) + ".packed";
}

}  // namespace

base::StatusOr<PackedWeights> PackedWeights::Load(const std::vector<PackedWeight>& weights,
                                                  const std::vector<std::string>& model_files,
                                                  const std::string& cache_directory,
                                                  const std::function<base::Status()>& check,
                                                  base::WorkerTeam& team) {
  PackedWeights packed;
  std::size_t bytes = 0;
  for (const PackedWeight& weight : weights) {
    packed.offsets_.push_back(bytes);
    bytes += weight.product->packed_bytes();
  }
  const std::string key =
      cache_directory.empty() ? "" : CacheKey(weights, model_files, cache_directory);
  const std::string name = key.empty() ? "" : CacheName(key);
  if (!name.empty()) packed.begin_ = Map(base::JoinPath(cache_directory, name), key, bytes);
  if (packed.begin_ != nullptr) return packed;
  SUBMIX_RETURN_IF_ERROR(check());
  const auto buffer = std::make_shared<AlignedBuffer>(Pack(weights, packed.offsets_, bytes, team));
  packed.begin_ = {buffer, buffer->data() + kHeaderBytes};
  if (name.empty()) return packed;
  if (const base::Status saved = Save(*buffer, key, cache_directory, name); !saved.ok()) {
    base::Log(base::LogSeverity::kWarning, "packed weights not cached: " + saved.message());
  }
  return packed;
}

}  // namespace submix::decode
