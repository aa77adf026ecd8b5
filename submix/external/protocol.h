// The messages between a server and a process that computes logits (docs/logits_protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"

namespace submix::external {

// Every message is its length, then so many bytes. Numbers are little-endian.
using MessageLength = std::uint64_t;
inline constexpr MessageLength kLongestHello = 4096;

// What the computing process says of itself when a server connects.
struct Hello {
  int rows = 0;  // 1 + members
  int vocabulary = 0;
  int context = 0;          // most tokens of a sequence
  bool is_float16 = false;  // otherwise logits are float32
  std::string digest;       // the ensemble's, 64 hex digits
  std::string tokenizer;    // SHA-256 of its file; empty: not said
};

// `where` opens the messages of errors: the socket. Errors: kInvalidArgument naming the field;
// kFailedPrecondition for another version of the protocol.
base::StatusOr<Hello> ParseHello(std::string_view text, const std::string& where);

// Of a connection's steps, from 1 on: the answer begins with it.
using StepNumber = std::uint64_t;

// The body of a step's message: its number, sequences that have ended, then what is appended to
// others.
std::string StepMessage(StepNumber step, std::span<const ensemble::SequenceId> closed,
                        std::span<const ensemble::Predictor::Append> appends);

}  // namespace submix::external
