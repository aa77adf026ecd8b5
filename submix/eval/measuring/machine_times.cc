#include "submix/eval/measuring/machine_times.h"

#include <cmath>

namespace submix::eval {
namespace {

// Each with its name in a file of times, all as double.
constexpr std::pair<const char*, double MachineTimes::*> kTimes[] = {
    {"ensemble_positions_a_second", &MachineTimes::ensemble_positions_a_second},
    {"dp_sgd_positions_a_second", &MachineTimes::dp_sgd_positions_a_second},
    {"public_milliseconds", &MachineTimes::public_milliseconds},
    {"member_milliseconds", &MachineTimes::member_milliseconds},
};

}  // namespace

double TrainingMinutes(const MachineTimes& times, const Contender& contender) {
  const PlanInput& input = contender.input;
  const double positions =
      input.users * std::ceil(input.tokens_a_user / times.block_positions) * times.block_positions;
  double seconds_a_position = 0;
  if (contender.is_ensemble()) {
    seconds_a_position += contender.passes / times.ensemble_positions_a_second;
  }
  if (contender.steps > 0) {
    seconds_a_position += static_cast<double>(contender.steps) * contender.sampling_probability /
                          times.dp_sgd_positions_a_second;
  }
  return seconds_a_position * positions / 60;
}

double TokenMilliseconds(const MachineTimes& times, const Contender& contender) {
  return times.public_milliseconds +
         (contender.is_ensemble() ? contender.parts * times.member_milliseconds : 0);
}

std::string TimesText(const MachineTimes& times) {
  char number[64];
  std::string text = "block_positions " + std::to_string(times.block_positions) + "\n";
  for (const auto& [name, member] : kTimes) {
    std::snprintf(number, sizeof number, " %.17g\n", times.*member);
    text += std::string(name) + number;
  }
  return text;
}

std::optional<MachineTimes> ParseTimes(const std::string& text) {
  std::istringstream words(text);
  MachineTimes times;
  std::string name;
  words >> name >> times.block_positions;
  if (name != "block_positions" || times.block_positions < 1) return std::nullopt;
  for (const auto& [expected, member] : kTimes) {
    words >> name >> times.*member;
    if (!words || name != expected || !(times.*member >= 0)) return std::nullopt;
  }
  return times;
}

}  // namespace submix::eval
