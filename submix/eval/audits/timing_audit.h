// What the clock tells a client: the time from a request to its token, measured for pairs of
// situations that must look alike. Wall-clock, so a statement about one machine at one hour; the
// counted work is equal by a test of its own.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// --- Welch's two-sided t-test: are the means of two samples different, whatever their variances?
// And its power: what difference would have been seen.

struct WelchResult {
  double difference = 0;          // mean of the second sample less mean of the first
  double standard_error = 0;      // of the difference
  double t = 0;                   // difference / standard_error
  double degrees_of_freedom = 0;  // Welch and Satterthwaite's
  double p_value = 1;             // two-sided
  // The least true difference, either way, that this test finds with probability 80 % at a level of
  // 5 %: (t_0.975 + t_0.80) standard errors.
  double detectable_difference = 0;
};

// Errors: kInvalidArgument for fewer than two values in a sample, or for values that are all equal.
base::StatusOr<WelchResult> WelchTest(std::span<const double> first,
                                      std::span<const double> second);

struct TimingAuditPlan {
  mechanism::MechanismOptions mechanism;  // num_parts as the ensemble has
  int pairs = 500;                        // >= 10, of each comparison
  // Prompts to choose from, all of one length; see AuditTiming. At least 8.
  std::vector<std::vector<base::TokenId>> prompts;
  std::chrono::nanoseconds quantum{0};  // SchedulerOptions::quantum
  // An empty directory for two ledgers, on the disk whose time counts. Nothing else is charged.
  std::string work_directory;
};

// Seconds from submitting a request for one token to having it.
struct TimingComparison {
  std::string first;
  std::string second;
  double first_median = 0;
  double second_median = 0;
  WelchResult all;  // second - first
  // Of what is left without the slowest tenth of both together, which is mostly the machine's.
  WelchResult without_slowest;
};

struct TimingAuditResult {
  // The same prompts, when every part can pay and when none can.
  TimingComparison budgets;
  // The quarter of the prompts at which the members are nearest to the public model, and the
  // quarter at which they are farthest; every part can pay.
  TimingComparison contexts;
  double slowest_usual = 0;  // seconds: nine tenths of all measurements took less
};

// The measurements of a pair follow each other at once, in random order. Errors: kInvalidArgument
// for a plan out of range; those of the predictor, the mechanism and the ledgers.
base::StatusOr<TimingAuditResult> AuditTiming(ensemble::Predictor& predictor,
                                              const tokenizer::Tokenizer& tokenizer,
                                              const TimingAuditPlan& plan,
                                              base::RandomSource& random,
                                              base::ProgressBar& progress);

}  // namespace submix::eval
