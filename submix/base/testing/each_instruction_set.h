// What must not depend on the processor, compared within one process.
#pragma once

#include "submix/base/instruction_sets.h"

namespace submix::base {

// body() with each instruction set that this processor has, then with the former choice again.
template <typename Body>
void WithEachInstructionSet(Body body) {
  const InstructionSet before = ChosenInstructionSet();
  for (const InstructionSet set :
       {InstructionSet::kPlain, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (LimitInstructionSet(set) == set) body();
  }
  LimitInstructionSet(before);
}

}  // namespace submix::base
