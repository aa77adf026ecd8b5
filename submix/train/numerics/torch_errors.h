// libtorch throws; nothing of ours does. This is the line between.
// Internal: includes torch.
#pragma once

#include <exception>
#include <new>
#include <string>

#include <torch/types.h>

#include "submix/base/status.h"

namespace submix::train {

// Runs `work` (returning Status or StatusOr) and turns what libtorch throws into a Status. The
// first line of its message only: what follows is a stack trace.
template <typename Work>
auto CatchTorchErrors(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return base::ResourceExhaustedError("out of memory in tensor work");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const std::string line = text.substr(0, text.find('\n'));
    if (line.find("allocate memory") != std::string::npos) {
      return base::ResourceExhaustedError("out of memory in tensor work");
    }
    return base::InternalError("libtorch: " + line);
  } catch (const std::exception& error) {
    return base::InternalError(std::string("libtorch: ") + error.what());
  }
}

}  // namespace submix::train
