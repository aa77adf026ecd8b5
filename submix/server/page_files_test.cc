#include "submix/server/page_files.h"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::server {
namespace page_files_test {

using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::Not;
using ::testing::NotNull;
using ::testing::StartsWith;

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class PageFilesTest : public ::testing::TestWithParam<Page> {
 protected:
  std::string Folder() const {
    return std::string(SUBMIX_DATA_DIR) + "/../page/built/" +
           (GetParam() == Page::kOperator ? "operator" : "playground");
  }
};

INSTANTIATE_TEST_SUITE_P(Both, PageFilesTest,
                         ::testing::Values(Page::kPlayground, Page::kOperator));

TEST_P(PageFilesTest, AreTheBuiltOnesByteForByte) {
  ASSERT_FALSE(PageFiles(GetParam()).empty());
  for (const PageFile& file : PageFiles(GetParam())) {
    const std::string name = file.path == "/" ? "/index.html" : std::string(file.path);
    EXPECT_EQ(file.bytes, FileBytes(Folder() + name)) << name;
  }
}

// What stands in double quotes behind each `name` in the text.
std::vector<std::string> Quoted(std::string_view text, std::string_view name) {
  std::vector<std::string> values;
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const auto begin = at + name.size();
    values.emplace_back(text.substr(begin, text.find('"', begin) - begin));
  }
  return values;
}

TEST_P(PageFilesTest, ReferToNothingButThemselves) {
  const PageFile* index = FindPageFile(GetParam(), "/");
  ASSERT_THAT(index, NotNull());
  const std::string html(index->bytes);
  std::vector<std::string> targets = Quoted(html, "src=\"");
  for (const std::string& target : Quoted(html, "href=\"")) targets.push_back(target);
  int files = 0;
  for (const std::string& target : targets) {
    if (target.starts_with('#')) continue;
    ASSERT_THAT(target, StartsWith("./"));
    EXPECT_THAT(FindPageFile(GetParam(), target.substr(1)), NotNull()) << target;
    ++files;
  }
  EXPECT_GE(files, 3);  // script, style, icon
}

TEST_P(PageFilesTest, NeedNoInlineScriptOrStyle) {
  const std::string html(FindPageFile(GetParam(), "/")->bytes);
  EXPECT_THAT(html, Not(HasSubstr("<style")));
  EXPECT_THAT(html, Not(HasSubstr(" style=")));
  for (auto at = html.find("<script"); at != html.npos; at = html.find("<script", at + 1)) {
    EXPECT_THAT(html.substr(at, html.find('>', at) - at), HasSubstr(" src="));
  }
  for (const char* handler : {" onclick=", " onload=", " oninput=", " onsubmit=", " onerror="}) {
    EXPECT_THAT(html, Not(HasSubstr(handler)));
  }
}

TEST(PageFilesTableTest, HaveTypesThatABrowserRuns) {
  EXPECT_EQ(FindPageFile(Page::kPlayground, "/")->content_type, "text/html; charset=utf-8");
  EXPECT_EQ(FindPageFile(Page::kPlayground, "/playground.js")->content_type,
            "text/javascript; charset=utf-8");
  EXPECT_EQ(FindPageFile(Page::kOperator, "/operator.css")->content_type,
            "text/css; charset=utf-8");
}

TEST(PageFilesTableTest, OfTheOperatorAreNotAmongThePublicOnes) {
  EXPECT_THAT(FindPageFile(Page::kPlayground, "/operator.js"), IsNull());
  EXPECT_THAT(FindPageFile(Page::kPlayground, "/../operator/index.html"), IsNull());
  EXPECT_THAT(FindPageFile(Page::kPlayground, ""), IsNull());
}

TEST(PageFilesTableTest, PolicyAllowsTheOwnOriginAlone) {
  EXPECT_THAT(PagePolicy(), StartsWith("default-src 'none'; script-src 'self'; "));
  EXPECT_THAT(PagePolicy(), HasSubstr("frame-ancestors 'none'"));
  for (const char* loose : {"unsafe", "*", "http", "data:"}) {
    EXPECT_THAT(PagePolicy(), Not(HasSubstr(loose)));
  }
}

}  // namespace page_files_test
}  // namespace submix::server
