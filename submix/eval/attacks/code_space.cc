#include "submix/eval/attacks/code_space.h"

#include <cmath>
#include <utility>

#include "submix/base/check.h"

namespace submix::eval {

base::StatusOr<CodeSpace> CodeSpace::Create(std::string code, std::string alphabet) {
  if (alphabet.size() < 2) {
    return base::InvalidArgumentError("alphabet: expected at least two characters");
  }
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    if (alphabet.find(alphabet[i], i + 1) != std::string::npos) {
      return base::InvalidArgumentError("alphabet: expected every character once");
    }
  }
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (alphabet.find(code[at]) != std::string::npos) places.push_back(at);
  }
  if (places.empty()) {
    return base::InvalidArgumentError(
        "a secret has no character of the alphabet, so there is nothing to guess: give --alphabet");
  }
  return CodeSpace(std::move(code), std::move(alphabet), std::move(places));
}

CodeSpace::CodeSpace(std::string code, std::string alphabet, std::vector<std::size_t> places)
    : code_(std::move(code)),
      alphabet_(std::move(alphabet)),
      places_(std::move(places)),
      size_(std::pow(static_cast<double>(alphabet_.size()), static_cast<double>(places_.size()))) {}

std::string CodeSpace::Code(std::uint64_t index) const {
  SUBMIX_CHECK(size_ <= 0x1p53 && static_cast<double>(index) < size_, "no such code");
  std::string code = code_;
  for (const std::size_t place : places_) {
    code[place] = alphabet_[index % alphabet_.size()];
    index /= alphabet_.size();
  }
  return code;
}

std::string CodeSpace::Draw(base::RandomSource& random) const {
  std::string code = code_;
  for (const std::size_t place : places_) {
    code[place] = alphabet_[random.NextBelow(alphabet_.size())];
  }
  return code;
}

}  // namespace submix::eval
