#include "submix/train/federated/fixed_size_sampling.h"

#include "submix/base/check.h"

namespace submix::train {

std::vector<std::size_t> SampleFixedSize(std::size_t count, std::size_t size,
                                         base::RandomSource& random) {
  SUBMIX_CHECK(size <= count, "more users than there are");
  std::vector<std::size_t> sample;
  // Of those that are left, each is as likely as the others to be among the missing ones.
  for (std::size_t i = 0; sample.size() < size; ++i) {
    if (random.NextBernoulli(size - sample.size(), count - i)) sample.push_back(i);
  }
  return sample;
}

}  // namespace submix::train
