// Counts how often each function is entered, of the sources that a test program compiles with
// -finstrument-functions: every evaluation of a solver, every sweep over the support, inlined or
// not. What the standard library does inside (the comparisons of a sort) is not counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace submix {

// By the function's address; all threads.
using EnteredFunctions = std::map<const void*, std::int64_t>;

// False if the compiler or a sanitizer does not go along; then nothing is ever counted.
bool CountsEnteredFunctions();

// Counts between the two. One pair at a time.
void BeginCountingFunctions();
EnteredFunctions EndCountingFunctions();

// A function's name, or where to look it up.
std::string NameOf(const void* function);

}  // namespace submix
