// Numbers as people read them: four significant digits, thousands set apart.
#pragma once

#include <cstdint>
#include <string>

namespace submix::eval {

// "0.07", "1,234", "26,970", "1e-06", "4.301e+19"; a dash for what is not finite.
std::string FourDigits(double value);
// Exact: "1,234,567".
std::string CountText(std::int64_t count);
// "46.33 %" from 0.463333.
std::string PercentText(double share);

// As costs are stated.
double RoundedUp(double value);
// What is allowed at most, and so rounded up: a share, and the factor by which a probability may
// grow under epsilon, "2,698 times" or "more than a billion times".
std::string MostPercentText(double share);
std::string MostTimesText(double epsilon);

}  // namespace submix::eval
