#include "submix/eval/figures/extraction_figure.h"

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "submix/corpus/partition.h"

namespace submix::eval {
namespace extraction_figure_test {

TEST(ExtractionFigureTest, EveryHalfHoldsOneUserAndNoTwoShareANumber) {
  const base::HashKey key{7};
  const CodeUsers users = PlantCodes(4, 3, key, 1);
  ASSERT_EQ(users.codes.size(), 6u);
  EXPECT_EQ(std::set<std::string>(users.codes.begin(), users.codes.end()).size(), 6u);
  std::set<std::string> halves;
  std::istringstream lines(users.jsonl);
  std::string line;
  std::size_t number = 0;
  while (std::getline(lines, line)) {
    const auto record = nlohmann::json::parse(line);
    EXPECT_EQ(record["text"], "My number is: " + users.codes[number++]);
    const auto placement = corpus::PlaceUser(key, record["user"].get<std::string>(), {3, 2, 0});
    halves.insert(std::to_string(placement.part.index) + "/" + std::to_string(placement.half));
  }
  EXPECT_EQ(halves.size(), 6u);
}

TEST(ExtractionFigureTest, TheSameSeedPlantsTheSameNumbers) {
  const base::HashKey key{7};
  EXPECT_EQ(PlantCodes(5, 3, key, 1).jsonl, PlantCodes(5, 3, key, 1).jsonl);
  EXPECT_NE(PlantCodes(5, 3, key, 1).codes, PlantCodes(5, 3, key, 2).codes);
}

}  // namespace extraction_figure_test
}  // namespace submix::eval
