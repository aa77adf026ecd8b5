#include "submix/corpus/partition.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"

namespace submix::corpus {
namespace {

using namespace std::string_view_literals;

// Domains end in a zero byte and differ before it, so that no two uses of the key hash equal bytes.
constexpr std::string_view kHeldoutDomain = "submix held out\0"sv;
constexpr std::string_view kPartDomain = "submix part\0"sv;
constexpr std::string_view kDealDomain = "submix deal\0"sv;
constexpr std::string_view kHalfDomain = "submix half\0"sv;
constexpr std::string_view kBatchDomain = "submix batch\0"sv;
constexpr std::string_view kKeyIdDomain = "submix partition key id\0"sv;

std::uint64_t UserHash(const base::HashKey& key, std::string_view domain, std::string_view user) {
  return base::KeyedHash(key, std::string(domain).append(user));
}

// Uniform on [0, 1): the top 53 bits, which a double holds exactly.
double AsFraction(std::uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

std::string_view AsChars(const base::HashKey& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

}  // namespace

base::HashKey NewPartitionKey() {
  base::HashKey key;
  base::FillWithEntropy(std::as_writable_bytes(std::span(key)));
  return key;
}

base::StatusOr<base::HashKey> LoadPartitionKey(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(path));
  base::HashKey key;
  if (bytes.size() != key.size()) {
    return base::DataLossError(path + ": expected a partition key of " +
                               std::to_string(key.size()) + " bytes, found " +
                               std::to_string(bytes.size()) + " bytes; restore it from a backup");
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

base::Status SavePartitionKey(const base::HashKey& key, const std::string& path) {
  return base::WriteFile(path, AsChars(key), 0600);
}

std::string PartitionKeyId(const base::HashKey& key) {
  return base::ToHex(base::Sha256(std::string(kKeyIdDomain).append(AsChars(key)))).substr(0, 16);
}

Placement PlaceUser(const base::HashKey& key, std::string_view user,
                    const PartitionOptions& options) {
  SUBMIX_CHECK(options.num_parts >= 1, "a partition has at least one part");
  SUBMIX_CHECK(options.halves == 1 || options.halves == 2, "a part has one or two halves");
  SUBMIX_CHECK(options.heldout_fraction >= 0 && options.heldout_fraction < 1,
               "the held-out fraction lies in [0, 1)");
  // The remainders are uniform up to num_parts / 2^64.
  const auto num_parts = static_cast<std::uint64_t>(options.num_parts);
  const auto halves = static_cast<std::uint64_t>(options.halves);
  Placement placement;
  placement.is_heldout = AsFraction(UserHash(key, kHeldoutDomain, user)) < options.heldout_fraction;
  placement.part.index = static_cast<int>(UserHash(key, kPartDomain, user) % num_parts);
  placement.half = static_cast<int>(UserHash(key, kHalfDomain, user) % halves);
  return placement;
}

int BatchOf(const base::HashKey& key, std::string_view user, int batches) {
  SUBMIX_CHECK(batches >= 1, "at least one batch");
  const auto num_batches = static_cast<std::uint64_t>(batches);
  return static_cast<int>(UserHash(key, kBatchDomain, user) % num_batches);
}

std::vector<std::string> DealUsers(const base::HashKey& key, const std::set<std::string>& users,
                                   const PartitionOptions& options) {
  std::vector<std::pair<std::uint64_t, std::string>> ranked;
  for (const std::string& user : users) {
    if (PlaceUser(key, user, options).is_heldout) continue;
    ranked.emplace_back(UserHash(key, kDealDomain, user), user);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> dealt;
  for (auto& [rank, user] : ranked) {
    if (std::ssize(dealt) == options.num_parts) break;
    dealt.push_back(std::move(user));
  }
  return dealt;
}

std::string ForgottenMark(const base::HashKey& key, std::string_view user) {
  char text[17];
  std::snprintf(
      text, sizeof text, "%016llx",
      static_cast<unsigned long long>(base::KeyedHash(key, "forgotten\n" + std::string(user))));
  return text;
}

}  // namespace submix::corpus
