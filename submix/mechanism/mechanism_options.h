// What the operator declares of a mechanism, once, before the first token. All of it is public.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::mechanism {

// How charges are counted, where a mechanism knows several ways. The names are persistent: they
// are in deployment.json.
enum class ChargeAccounting {
  kDefault,      // the mechanism's own
  kPublished,    // as its paper counts
  kLeaveOneOut,  // the exact divergence without each part; research where it depends on the others
  kWorstCase,    // a constant that holds for every data set
};
// "default", "published", "leave-one-out", "worst-case".
std::string_view ToString(ChargeAccounting accounting);
// Errors: kInvalidArgument, listing the names.
base::StatusOr<ChargeAccounting> ParseChargeAccounting(std::string_view text);

// A noisy comparison of the ensemble's mean with the public model on the likeliest public tokens
// (Theorem 8).
struct ScreenOptions {
  double mixing_weight = 1e-4;  // λ: the ensemble's in what is compared; in (0, 1]
  double noise_scale = 1e-2;    // σ of the noise on each compared probability; > 0
  // Divergence in nats, >= 0. screened answers from the public model up to it (nothing to gain),
  // adapmixed above it (too dear).
  double threshold = 4.5;
  int top_tokens = 60;  // how many tokens are compared; >= 1

  bool operator==(const ScreenOptions&) const = default;
};

// What a part's log ratio to the public model becomes before it is averaged: stretched, then kept
// in a window of width 2 C, where the target leakage gives C. What it costs depends on the width
// alone (Theorem 6), so that both are free choices: members that know a part of the text move
// too little, and what they raise tells more than what they lower.
struct ClipOptions {
  double stretch = 1;  // gamma, in [1, 16]: log ratios are multiplied by it
  // Where the window lies, in [-1, 1]: from -(1 - centre) C to (1 + centre) C.
  double centre = 0;

  bool operator==(const ClipOptions&) const = default;
};

// Options of every mechanism; each reads its own.
struct MechanismOptions {
  std::string name = "filtered-submix";
  int num_parts = 0;
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  // Cap on one charge in nats (β). > 0. Mechanisms with a noise scale or a clip derive it from
  // this, so that every token costs at most β.
  double target_leakage = 0;
  // Largest mixing weight, in (0, 1]; the floor is f = 1 − this (filtered-submix).
  double max_mixing_weight = 0.6;
  ChargeAccounting accounting = ChargeAccounting::kDefault;
  // Probability with which each part is in the subset that answers, in (0, 1] (pmixed; adapmixed
  // with published accounting).
  double sampling_probability = 1;
  // Radius, in nats, of the ball around the public model that parts are pulled into (adapmixed;
  // pmixed with leave-one-out accounting). > 0 where it is read.
  double ball_radius = 0;
  ScreenOptions screen;  // adapmixed, screened
  ClipOptions clip;      // dclip, filtered-dclip
  // What stands behind the screen: filtered-submix or dclip (screened).
  std::string screened_mechanism = "filtered-submix";
};

// Errors: kInvalidArgument, naming the option and its range: num_parts in [1, kMaxParts], a target
// leakage that is positive and below 2^13 nats, an order of at least 1.
base::Status CheckMechanismOptions(const MechanismOptions& options);

// Errors: kInvalidArgument unless the arrays have the sizes that the counts say, for `num_parts`
// parts of one or two halves and as many remaining budgets.
base::Status CheckPredictions(const PartPredictions& predictions, int num_parts,
                              std::size_t num_remaining);

}  // namespace submix::mechanism
