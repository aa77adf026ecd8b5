#include "submix/eval/measuring/repeatable_draws.h"

#include <string>

#include "submix/base/digest.h"
#include "submix/base/repeatable_random.h"

namespace submix::eval {

std::unique_ptr<base::RandomSource> RepeatableDraws(std::uint64_t seed, std::string_view purpose,
                                                    std::uint64_t number) {
  return base::MakeRepeatableRandomSource(
      base::Sha256("submix attack draws\n" + std::to_string(seed) + " " + std::to_string(number) +
                   " " + std::string(purpose)));
}

double DrawUnit(base::RandomSource& random) {
  return (static_cast<double>(random.NextUint64() >> 11) + 0.5) * 0x1p-53;
}

std::size_t DrawIndex(std::span<const double> pmf, base::RandomSource& random) {
  double rest = DrawUnit(random);
  for (std::size_t x = 0; x + 1 < pmf.size(); ++x) {
    rest -= pmf[x];
    if (rest < 0) return x;
  }
  return pmf.size() - 1;
}

}  // namespace submix::eval
