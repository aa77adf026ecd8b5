#include "submix/base/json_structure.h"

#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace submix::base {
namespace {

class StructureWatch final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit StructureWatch(std::size_t max_depth) : max_depth_(max_depth) {}

  JsonStructure& structure() { return structure_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
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
  bool Open() {
    structure_.is_too_deep = open_.size() >= max_depth_;
    if (!structure_.is_too_deep) open_.emplace_back();
    return !structure_.is_too_deep;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const std::size_t max_depth_;
  std::vector<std::set<std::string>> open_;  // the keys of each object and array that is open
  JsonStructure structure_;
};

}  // namespace

JsonStructure ReadJsonStructure(std::string_view text, std::size_t max_depth) {
  StructureWatch watch(max_depth);
  nlohmann::json::sax_parse(text, &watch);
  return std::move(watch.structure());
}

}  // namespace submix::base
