#include "submix/eval/pages/guideline_points.h"

#include <cmath>

#include "submix/accounting/promise.h"
#include "submix/engine/deployment_statement.h"
#include "submix/eval/pages/four_digits.h"

namespace submix::eval {
namespace {

using accounting::Adjacency;
using engine::Deployment;

bool IsDeclared(const DeclaredStatements& declared, std::string_view key) {
  return declared.contains(key);
}

// The statement in quotes, or "not declared."
std::string SaidOf(const DeclaredStatements& declared, std::string_view key) {
  const auto found = declared.find(key);
  return found == declared.end() ? std::string(kNotDeclared) + "." : "“" + found->second + "”";
}

PointStatus StatusOfEpsilon(const Deployment& deployment) {
  const auto user = GuaranteeOfUser(deployment);
  if (!user) return PointStatus::kNotMet;
  return user->bound.epsilon > accounting::kWeakEpsilon ? PointStatus::kPartly : PointStatus::kMet;
}

GuidelinePoint Epsilon(const Deployment& deployment, const DeclaredStatements&) {
  return {"epsilon_and_delta", "Epsilon and delta", StatusOfEpsilon(deployment),
          ReadAloud(deployment)};
}

GuidelinePoint Unit(const Deployment& deployment, const DeclaredStatements&) {
  const bool has_users = GuaranteeOfUser(deployment).has_value();
  return {"unit", "Unit of privacy", has_users ? PointStatus::kMet : PointStatus::kNotMet,
          has_users ? "All text of one user key, however much it is. That is one person where each "
                      "person has one key; words about somebody in others' text are the others'."
                    : "All text of the users in one part; nothing follows for one user."};
}

GuidelinePoint Neighbours(const Deployment& deployment, const DeclaredStatements&) {
  const auto user = GuaranteeOfUser(deployment);
  return {"neighbours", "Neighbouring data sets", user ? PointStatus::kMet : PointStatus::kNotMet,
          user ? "Two data sets are neighbours if one user's text differs (" +
                     accounting::AdjacencyWords(user->adjacency) + "). The table has the variants."
               : "Two data sets are neighbours if one part's text differs (replaced by the public "
                 "model)."};
}

GuidelinePoint Composition(const Deployment& deployment, const DeclaredStatements& declared) {
  const std::size_t earlier = deployment.config.earlier.lineages.size();
  return {"composition", "Composition",
          IsDeclared(declared, "other_releases") ? PointStatus::kMet : PointStatus::kPartly,
          "All answers to everybody, ever, count against one budget, by addition of Rényi "
          "divergences at order " +
              deployment.config.options.mechanism.order.ToString() +
              "; a durable ledger keeps it, and it is never reset or refunded. " +
              (earlier == 0 ? "No earlier deployment is counted in."
                            : "Earlier deployments over the same users that are counted in: " +
                                  CountText(static_cast<std::int64_t>(earlier)) + ".") +
              " Other releases about the same people: " + SaidOf(declared, "other_releases")};
}

GuidelinePoint Sensitivity(const Deployment& deployment, const DeclaredStatements&) {
  return {"sensitivity", "Sensitivity",
          deployment.mechanism->is_sound() ? PointStatus::kMet : PointStatus::kNotMet,
          "None is estimated from data. Before each token every part is charged a bound on how far "
          "its presence moves the law of that token, at most " +
              FourDigits(deployment.config.options.mechanism.target_leakage) +
              " nats; a part that cannot pay is silent. How much one user wrote does not matter." +
              (deployment.mechanism->is_sound()
                   ? ""
                   : " That the charge is such a bound is NOT proven for this mechanism.")};
}

GuidelinePoint FinitePrecision(const Deployment&, const DeclaredStatements&) {
  return {"finite_precision", "Finite precision", PointStatus::kMet,
          "Charges are whole multiples of 2^-50 nats, rounded up, and budgets are rounded down. A "
          "token is drawn from whole numbers whose law is exactly the one that was charged."};
}

GuidelinePoint Randomness(const Deployment&, const DeclaredStatements&) {
  return {"randomness", "Randomness", PointStatus::kMet,
          "ChaCha20, keyed by the operating system's entropy; whole numbers are drawn by "
          "rejection, without bias. No client can choose or learn a seed."};
}

GuidelinePoint SideChannels(const Deployment&, const DeclaredStatements&) {
  return {"side_channels", "Side channels", PointStatus::kPartly,
          "Refusals, errors, public metrics and the counted work of a token depend on no private "
          "text. Durations nearly do not: they are outside the proof; padding hides what is below "
          "its step, and `submix audit timing` measures what is left."};
}

GuidelinePoint TrustModel(const Deployment& deployment, const DeclaredStatements&) {
  return {"trust_model", "Trust model", PointStatus::kMet,
          std::string("Central. The operator holds text, members and ledger in the clear and is "
                      "trusted. Clients are not: any number, colluding, adaptive, who may know "
                      "everything but one part's text.") +
              (deployment.ensemble.manifest().external
                   ? " The models run outside Submix, and whoever runs them is trusted, too."
                   : "")};
}

GuidelinePoint Security(const Deployment&, const DeclaredStatements& declared) {
  return {"security", "Security and access", PointStatus::kPartly,
          "API keys are stored as hashes; the ledger is a chain of hashes, which shows damage but "
          "is no signature. Text and members lie in the clear, under the permissions of their "
          "files. Keys: " +
              SaidOf(declared, "key_holders")};
}

GuidelinePoint Collection(const Deployment&, const DeclaredStatements& declared) {
  return {"collection_and_retention", "Collection and retention",
          IsDeclared(declared, "retention") ? PointStatus::kPartly : PointStatus::kNotMet,
          "Submix neither collects text nor decides how much is needed. `submix forget` takes a "
          "user out of the members; what was spent stays spent. Retention: " +
              SaidOf(declared, "retention")};
}

GuidelinePoint Utility(const Deployment&, const DeclaredStatements&) {
  return {"utility", "Utility", PointStatus::kPartly,
          "`submix evaluate` measures what is kept of fine-tuning without privacy, on text that no "
          "member has read. The numbers are the operator's: publishing them is a release outside "
          "the budget."};
}

GuidelinePoint Bias(const Deployment&, const DeclaredStatements&) {
  return {"bias", "Bias", PointStatus::kNotMet,
          "Not measured for groups of people. What hides one part hides what few write: users "
          "unlike the others gain least. `submix evaluate --by-user` shows the operator whom."};
}

GuidelinePoint Tuning(const Deployment&, const DeclaredStatements&) {
  return {"tuning", "Tuning", PointStatus::kPartly,
          "What is recommended follows from public numbers: users, tokens, parts. A choice of "
          "mechanism, order or budget by a look at private text is a release outside the budget, "
          "of which Submix cannot know."};
}

GuidelinePoint PreTraining(const Deployment& deployment, const DeclaredStatements& declared) {
  constexpr std::string_view kKey = "public_model";
  std::string answer =
      "The promise counts the public model as public: it must not have read these users' text. ";
  PointStatus status = IsDeclared(declared, kKey) ? PointStatus::kPartly : PointStatus::kNotMet;
  if (deployment.public_training) {
    status = PointStatus::kMet;
    answer = "The public model was trained on users' text by " +
             deployment.public_training->mechanism + "; what that cost stands in the promise. ";
  }
  return {"pre_training_data", "Pre-training data", status,
          answer + "Provenance: " + SaidOf(declared, kKey)};
}

using Answer = GuidelinePoint (*)(const Deployment&, const DeclaredStatements&);
constexpr Answer kPoints[] = {Epsilon,         Unit,       Neighbours,   Composition, Sensitivity,
                              FinitePrecision, Randomness, SideChannels, TrustModel,  Security,
                              Collection,      Utility,    Bias,         Tuning,      PreTraining};

}  // namespace

std::string_view ToString(PointStatus status) {
  switch (status) {
    case PointStatus::kMet:
      return "met";
    case PointStatus::kPartly:
      return "partly met";
    case PointStatus::kNotMet:
      return "not met";
  }
  return "";
}

std::vector<GuidelinePoint> AnswerGuidelines(const Deployment& deployment,
                                             const DeclaredStatements& declared) {
  std::vector<GuidelinePoint> points;
  for (const Answer answer : kPoints) points.push_back(answer(deployment, declared));
  return points;
}

std::string ReadAloud(const Deployment& deployment) {
  const auto user = GuaranteeOfUser(deployment);
  if (!user) {
    return "Nothing is proven for one user, so no epsilon can be read aloud; the table of the "
           "promise says what holds of a part.";
  }
  const double epsilon = RoundedUp(user->bound.epsilon);
  const double odds = std::exp(epsilon);
  std::string text = "Epsilon is " + FourDigits(epsilon) + ", delta " +
                     FourDigits(user->bound.delta) +
                     ". Read aloud: whatever is asked, no answers together are more than " +
                     MostTimesText(epsilon) +
                     " as likely, or as unlikely, because of what one user wrote, but for a chance "
                     "of one in " +
                     FourDigits(1 / user->bound.delta) + ".";
  text += epsilon > accounting::kWeakEpsilon
              ? " That is weak: an epsilon above 10 excludes hardly anything."
              : " Who held it for an even bet that a text was read may become " +
                    MostPercentText(odds / (1 + odds)) + " sure, no more.";
  return text;
}

std::vector<NeighbourVariant> NeighbourVariants(const Deployment& deployment) {
  // Of (epsilon, delta) for a group of two.
  constexpr const char* kAsTwo =
      "only weaker: twice the epsilon, and 1 + e^epsilon times the delta";
  const auto user = GuaranteeOfUser(deployment);
  const auto holds_for = [&](std::initializer_list<Adjacency> adjacencies,
                             const std::string& otherwise) -> std::string {
    if (!user) return "no: nothing follows for one user";
    for (const Adjacency adjacency : adjacencies) {
      if (user->adjacency == adjacency) return "promised";
    }
    return otherwise;
  };
  return {
      {"One user's text is replaced by any other text", "bounded, replacement",
       holds_for({Adjacency::kReplace}, kAsTwo)},
      {"One user joins or leaves with all text", "unbounded, add or remove",
       holds_for({Adjacency::kReplace, Adjacency::kPresence},
                 "no: who the users are is public here")},
      {"One user's text is emptied; the user stays on the list", "zero-out",
       holds_for({Adjacency::kReplace, Adjacency::kPresence, Adjacency::kEmptied}, "")},
      {"One document of a user changes", "event or record level",
       holds_for({Adjacency::kReplace}, kAsTwo)},
      {"All text of a part's users is replaced by the public model", "leave one part out",
       deployment.mechanism->is_sound() ? "promised, with a smaller epsilon"
                                        : "claimed, not proven"},
      {"Two users at once, or a person with two keys", "group privacy", holds_for({}, kAsTwo)},
  };
}

std::vector<std::string> NotCovered(const Deployment& deployment) {
  std::vector<std::string> sentences = {
      "The operator, who holds text, members and ledger.",
      "Time: how long a token takes is nearly, not exactly, the same for all texts.",
      "People with several user keys, and words about somebody in others' text.",
      "What many users write: that is what the model is meant to learn.",
      "What the operator publishes, or decides, by a look at the ledger, a measurement or this "
      "page.",
      "Deployments over the same users that were not named when this one was declared.",
  };
  if (!deployment.mechanism->is_sound()) {
    sentences.insert(sentences.begin(),
                     "RESEARCH: what is said of a part is NOT proven for every data set.");
  }
  if (!deployment.public_training) {
    sentences.emplace_back("What the public model has read before.");
  }
  if (deployment.ensemble.manifest().external) {
    sentences.emplace_back("What the process outside Submix does that runs the models.");
  }
  return sentences;
}

}  // namespace submix::eval
