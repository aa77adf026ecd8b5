#include "submix/ensemble/batches.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::ensemble {
namespace batches_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

class BatchesTest : public ::testing::Test {
 protected:
  void Make(int batch, int batches) {
    SUBMIX_ASSERT_OK(base::MakeDirectories(BatchDirectory(place_, batch, batches)));
  }

  base::TemporaryDirectory directory_;
  const std::string place_ = directory_.File("place");
};

TEST_F(BatchesTest, StandInTheirOrder) {
  std::vector<std::string> made;
  for (int batch = 0; batch < 11; ++batch) {
    Make(batch, 11);
    made.push_back(BatchDirectory(place_, batch, 11));
  }
  EXPECT_EQ(made.front(), base::JoinPath(place_, "batch-1-of-11"));
  const auto found = BatchesIn(place_);
  SUBMIX_ASSERT_OK(found);
  EXPECT_EQ(*found, made);
}

TEST_F(BatchesTest, AreNoneInAnythingElse) {
  for (const std::string& place : {place_, directory_.File("nowhere")}) {
    const auto found = BatchesIn(place);
    SUBMIX_ASSERT_OK(found);
    EXPECT_TRUE(found->empty());
  }
}

TEST_F(BatchesTest, AreRefusedWhereOneIsMissing) {
  Make(0, 3);
  Make(2, 3);
  EXPECT_THAT(BatchesIn(place_), StatusIs(StatusCode::kDataLoss, HasSubstr("bring back")));
  Make(1, 3);
  SUBMIX_EXPECT_OK(BatchesIn(place_));
  Make(0, 4);
  EXPECT_THAT(BatchesIn(place_), StatusIs(StatusCode::kDataLoss, HasSubstr("4 directories")));
}

}  // namespace batches_test
}  // namespace submix::ensemble
