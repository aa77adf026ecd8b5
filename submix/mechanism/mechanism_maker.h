// How mechanisms are made of their options, by name: what a table of mechanisms consists of.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::mechanism {

// Makes a mechanism of its options, or says why it does not.
using MechanismMaker =
    std::function<base::StatusOr<std::unique_ptr<Mechanism>>(const MechanismOptions& options)>;

// By the mechanism's own Create, which returns its own type.
template <typename T>
base::StatusOr<std::unique_ptr<Mechanism>> MakeBy(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(std::unique_ptr<T> mechanism, T::Create(options));
  return std::unique_ptr<Mechanism>(std::move(mechanism));
}

// A row of a table of mechanisms.
struct NamedMaker {
  std::string_view name;
  base::StatusOr<std::unique_ptr<Mechanism>> (*make)(const MechanismOptions& options);
};

}  // namespace submix::mechanism
