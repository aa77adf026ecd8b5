// What an answer is called in logs, by clients and by the operator.
#pragma once

#include <string>

namespace submix::server {

// 24 random hexadecimal digits: says nothing.
std::string RandomId();

}  // namespace submix::server
