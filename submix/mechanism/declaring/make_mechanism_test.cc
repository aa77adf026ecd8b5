#include "submix/mechanism/declaring/make_mechanism.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace make_mechanism_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(MakeMechanismTest, NamesWhatIsWrong) {
  MechanismOptions options;
  options.num_parts = 8;
  options.target_leakage = .1;
  const auto refused = [](const MechanismOptions& wrong, const char* word) {
    EXPECT_THAT(MakeMechanism(wrong),
                base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr(word)));
  };
  SUBMIX_EXPECT_OK(MakeMechanism(options));
  MechanismOptions wrong = options;
  wrong.name = "submixx";
  refused(wrong, "filtered-submix, dclip");
  wrong.name = "submix";
  refused(wrong, "not among those that are proven");
  wrong = options;
  wrong.num_parts = 0;
  refused(wrong, "parts");
  wrong.num_parts = kMaxParts + 1;
  refused(wrong, "parts");
  wrong = options;
  for (const double bad : {0.0, -1.0, 8192.0, kInfinity, std::nan("")}) {
    wrong.target_leakage = bad;
    refused(wrong, "leakage");
  }
  wrong = options;
  for (const double bad : {0.0, -1.0, 1.5, std::nan("")}) {
    wrong.max_mixing_weight = bad;
    refused(wrong, "mixing");
  }
  wrong = options;
  wrong.order = *RenyiOrder::Create(.5);
  refused(wrong, "order");
}

}  // namespace make_mechanism_test
}  // namespace submix::mechanism
