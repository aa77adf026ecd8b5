// What documents are, and how they are asked for: texts, labels, or conversations.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "submix/base/status.h"
#include "submix/engine/request.h"
#include "submix/engine/synthesis.h"
#include "submix/workbench/models/deployed_engine.h"
#include "submix/workbench/synthesis/synthesis_order.h"

namespace submix::workbench {

// One thread at a time.
class DocumentKind {
 public:
  virtual ~DocumentKind() = default;

  // Of an order, from one engine; both outlive it. Errors: kInvalidArgument for labels that cannot
  // be told apart; kFailedPrecondition for conversations of a model without a chat template.
  static base::StatusOr<std::unique_ptr<DocumentKind>> Of(const SynthesisOrder& order,
                                                          const DeployedEngine& deployed);

  // What a document that begins with the prompt asks first. Errors: those of encoding; and, of what
  // may be asked later, kInvalidArgument where it may not fit the context.
  virtual base::StatusOr<engine::Request> First(const DocumentPrompt& prompt) const = 0;
  // What a document asks behind a text of it that has ended; nothing: it is whole, and `fields` are
  // its.
  virtual base::StatusOr<std::optional<engine::Request>> Next(
      const DocumentPrompt& prompt, const engine::SynthesizedDocument& text,
      nlohmann::ordered_json& fields) = 0;
};

// Of a document, in all that it asks.
std::int64_t MostTokens(const SynthesisOrder& order);

}  // namespace submix::workbench
