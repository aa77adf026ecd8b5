// The mean of the parts' integer laws, whoever of them takes part: h = sum_i w_i / (k W), with
// w_i = w_0 for a part that sits out (proofs.md T11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

// w_i - w_0 of every part. Move-only value; the rows start uninitialised.
class PartShifts {
 public:
  PartShifts(int num_parts, std::size_t support_size);

  // [V]: part i's row.
  std::span<std::int64_t> row(int part);
  std::span<const std::int64_t> row(int part) const;
  int num_parts() const { return num_parts_; }
  std::size_t support_size() const { return support_size_; }
  // Counts the row as zero, with the same work afterwards as for any other.
  void SitOut(int part) { sits_out_[static_cast<std::size_t>(part)] = true; }
  bool sits_out(int part) const { return sits_out_[static_cast<std::size_t>(part)]; }

 private:
  int num_parts_;
  std::size_t support_size_;
  std::vector<bool> sits_out_;              // [K]
  std::unique_ptr<std::int64_t[]> shifts_;  // [K, V]
};

class MeanProposal final : public Proposal {
 public:
  // public_weights [V]: w_0. Requires: sizes that fit.
  MeanProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
               std::vector<std::uint64_t> public_weights, PartShifts shifts);

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;

 private:
  std::vector<std::uint64_t> public_weights_;
  PartShifts shifts_;
};

}  // namespace submix::mechanism
