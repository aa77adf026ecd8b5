// What the guidelines of NIST SP 800-226 ("Guidelines for Evaluating Differential Privacy
// Guarantees", 2025) ask of a deployment, answered from its files, point by point. Nothing here
// depends on private text or on what was spent: all of it may be published.
// docs/nist_800_226.md says why each is met or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "submix/engine/deployment.h"
#include "submix/eval/pages/declared_statements.h"

namespace submix::eval {

enum class PointStatus { kMet, kPartly, kNotMet };
// "met", "partly met", "not met".
std::string_view ToString(PointStatus status);

struct GuidelinePoint {
  std::string_view id;  // of JSON: "epsilon_and_delta"; never changes its meaning
  std::string_view title;
  PointStatus status;
  std::string answer;  // sentences
};

// All points, in the order of the page.
std::vector<GuidelinePoint> AnswerGuidelines(const engine::Deployment& deployment,
                                             const DeclaredStatements& declared);

// Epsilon and delta read aloud; why there are none.
std::string ReadAloud(const engine::Deployment& deployment);

// In which ways two data sets may differ, and whether the promise is about that.
struct NeighbourVariant {
  std::string_view difference;  // "one user's text is replaced by any other"
  std::string_view known_as;    // "bounded"
  std::string answer;           // "promised", or why not
};
std::vector<NeighbourVariant> NeighbourVariants(const engine::Deployment& deployment);

// What the promise does not cover: a sentence each.
std::vector<std::string> NotCovered(const engine::Deployment& deployment);

}  // namespace submix::eval
