#include "submix/base/json_structure.h"

#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace submix::base {
namespace {

class StructureWatch final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit StructureWatch(const JsonLimits& limits) : limits_(limits) {}

  JsonStructure& structure() { return structure_; }

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool start_object(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool key(string_t& key) override {
    if (open_.back().insert(key).second) return true;
    structure_.duplicate_key = key;
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Count() {
    structure_.has_too_many_values = ++values_ > limits_.values;
    return !structure_.has_too_many_values;
  }
  bool Open() {
    structure_.is_too_deep = open_.size() >= limits_.depth;
    if (!structure_.is_too_deep) open_.emplace_back();
    return !structure_.is_too_deep && Count();
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> open_;  // the keys of each object and array that is open
  JsonStructure structure_;
};

}  // namespace

JsonStructure ReadJsonStructure(std::string_view text, const JsonLimits& limits) {
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return {.nul_byte = nul};
  }
  StructureWatch watch(limits);
  nlohmann::json::sax_parse(text, &watch);
  return std::move(watch.structure());
}

}  // namespace submix::base
