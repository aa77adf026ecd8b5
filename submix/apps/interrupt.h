// What Ctrl-C says.
#pragma once

#include <csignal>

#include <unistd.h>

namespace submix::apps {

// For commands that go on when they are started again: an interrupt (Ctrl-C) ends the program as
// ever, and says so before. Where interrupts are ignored (nohup), they stay so.
inline void SayGoesOnAtInterrupt() {
  const auto say = [](int signal) {
    constexpr char kLine[] = "\nsubmix: interrupted; the same command goes on\n";
    if (::write(STDERR_FILENO, kLine, sizeof kLine - 1) < 0) {
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  };
  if (std::signal(SIGINT, say) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

}  // namespace submix::apps
