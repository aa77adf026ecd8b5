// All the codes that a planted one might have been: the same text with other characters of an
// alphabet at the places where it has one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"

namespace submix::eval {

// Immutable value.
class CodeSpace {
 public:
  // Errors: kInvalidArgument for an alphabet of fewer than two characters or with one twice, or a
  // code without any of them.
  static base::StatusOr<CodeSpace> Create(std::string code, std::string alphabet);

  // How many codes there are.
  double size() const { return size_; }
  // Every code once, for 0 <= index < size. Requires: size <= 2^53.
  std::string Code(std::uint64_t index) const;
  // One of them, uniformly.
  std::string Draw(base::RandomSource& random) const;

 private:
  CodeSpace(std::string code, std::string alphabet, std::vector<std::size_t> places);

  std::string code_;
  std::string alphabet_;
  std::vector<std::size_t> places_;
  double size_;
};

}  // namespace submix::eval
