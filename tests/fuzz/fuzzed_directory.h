// Files that a fuzzer writes anew at every execution: in memory, where the system has /dev/shm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace submix::fuzz {

// Exists until it is destroyed. One thread at a time.
class FuzzedDirectory {
 public:
  FuzzedDirectory();
  ~FuzzedDirectory();
  FuzzedDirectory(const FuzzedDirectory&) = delete;
  FuzzedDirectory& operator=(const FuzzedDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const;
  // From now on the file holds `content`. Returns its path.
  std::string Put(std::string_view name, std::string_view content) const;
  // What the file holds. Requires: it is there.
  std::string Get(std::string_view name) const;

 private:
  std::string path_;
};

// For readers of several files: the input cut at the lines "====" into `count` pieces, the last of
// which holds the rest; missing ones are empty.
std::vector<std::string_view> Pieces(std::string_view input, std::size_t count);

}  // namespace submix::fuzz
