// The Predictor whose members read: member m is the public model, or the public model with adapter
// m, that has read some records of part m before the sequence.
#pragma once

#include <memory>
#include <vector>

#include "submix/base/status.h"
#include "submix/contexts/member_contexts.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/ensemble/predictor.h"

namespace submix::contexts {

// A predictor of contexts.num_members() members over `model`, which has none of its own, or, with
// separate rows, one adapter for each of them: then is_trained[m] says whether adapter m was
// trained or adds nothing, and otherwise it is empty. Every member computes contexts' number of
// tokens before the sequence's own, rounded up to what sequences can share; those that its records
// do not fill are hidden (CpuPredictor::OpenHidden), so that work is a function of public things. A
// member without records does the same work, and if it is not trained either, gives the public row,
// bit for bit. A member's first token of context has position 0.
//
// Fixed contexts are computed once, here, and shared by all sequences. Those that read the query
// are chosen and computed within the Step that first predicts, by all tokens until then; in Score,
// by the tokens before `first`. Score computes positions in blocks and reads the context again for
// each.
//
// Errors: kFailedPrecondition if the contexts leave no room for a sequence; Step's.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> MakeContextPredictor(
    std::unique_ptr<decode::CpuPredictor> model, MemberContexts contexts,
    std::vector<bool> is_trained = {});

}  // namespace submix::contexts
