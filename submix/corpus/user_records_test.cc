#include "submix/corpus/user_records.h"

#include <utility>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::corpus {
namespace user_records_test {

using base::IsOk;
using base::Status;
using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class UserRecordsTest : public ::testing::Test {
 protected:
  void Write(const std::string& content, const std::string& name = "c.jsonl") {
    path_ = directory_.Write(name, content);
  }
  Status Read() {
    records_.clear();
    CorpusFile file(path_);
    file.user_column = columns_.user;
    file.text_column = columns_.text;
    return ReadUserRecords(file, [this](const UserRecord& record) {
      records_.push_back(record);
      return base::OkStatus();
    });
  }
  Status ReadText(const std::string& content) {
    Write(content);
    return Read();
  }

  base::TemporaryDirectory directory_;
  std::string path_ = directory_.File("c.jsonl");
  struct {
    std::string user = "user";
    std::string text = "text";
  } columns_;
  std::vector<UserRecord> records_;
};

MATCHER_P3(IsRecord, user, text, line, "") {
  return arg.user == user && arg.text == text && arg.line == line;
}

// An error of line `line` that holds `reason` and none of the file's words.
auto IsRefused(int line, const std::string& reason) {
  return StatusIs(StatusCode::kInvalidArgument,
                  AllOf(HasSubstr("c.jsonl:" + std::to_string(line) + ": "), HasSubstr(reason),
                        Not(HasSubstr("secret"))));
}

TEST_F(UserRecordsTest, ReadsRecordsInOrder) {
  SUBMIX_ASSERT_OK(
      ReadText("{\"user\": \"a\", \"text\": \"one\\n\\u00e9\"}\n"
               "{\"text\": \"\", \"user\": \"b\"}\n"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "one\né", 1), IsRecord("b", "", 2)));
}

TEST_F(UserRecordsTest, ToleratesBlankLinesWindowsLineEndsByteOrderMarkAndNoLastNewline) {
  SUBMIX_ASSERT_OK(
      ReadText("\xef\xbb\xbf{\"user\": \"a\", \"text\": \"x\"}\r\n"
               "\r\n \t\n"
               "{\"user\": \"b\", \"text\": \"y\"}"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "x", 1), IsRecord("b", "y", 4)));
}

TEST_F(UserRecordsTest, IgnoresOtherFieldsHoweverDeep) {
  SUBMIX_ASSERT_OK(
      ReadText(R"({"id": 7, "meta": {"user": 1, "text": ["user", {"text": 2}]}, "user": "a", )"
               R"("tags": ["user", "text"], "text": "x", "more": null, "ok": true, "z": -1.5e3})"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "x", 1)));
}

TEST_F(UserRecordsTest, TakesTheLastOfEqualFields) {
  SUBMIX_ASSERT_OK(ReadText(R"({"user": 3, "user": "a", "text": "x", "text": "y"})"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "y", 1)));
  EXPECT_THAT(ReadText(R"({"user": "a", "text": "x", "text": {}})"), IsRefused(1, "\"text\""));
}

TEST_F(UserRecordsTest, RefusesMissingAndMistypedFieldsByLine) {
  const std::string good = "{\"user\": \"a\", \"text\": \"secret\"}\n";
  EXPECT_THAT(ReadText(good + R"({"text": "secret"})"), IsRefused(2, "\"user\" is missing"));
  EXPECT_THAT(ReadText(good + R"({"user": "secret"})"), IsRefused(2, "\"text\" is missing"));
  EXPECT_THAT(ReadText(good + R"({"user": "", "text": "secret"})"),
              IsRefused(2, "\"user\" is empty"));
  struct Other {
    const char* value;
    const char* kind;
  };
  for (const Other& other : {Other{"1.5", "a number with a fraction"},
                             {"1.0", "a number with a"},
                             {"1e3", "a number with a"},
                             {"null", "null"},
                             {"true", "true or false"},
                             {"[\"secret\"]", "an array"},
                             {"{\"a\": \"s\"}", "an object"}}) {
    const std::string value = other.value;
    EXPECT_THAT(
        ReadText(good + R"({"text": "secret", "user": )" + value + "}"),
        IsRefused(2, "\"user\" is not a string or an integer but " + std::string(other.kind)));
    EXPECT_THAT(ReadText(good + R"({"user": "secret", "text": )" + value + "}"),
                IsRefused(2, "\"text\" is not a string but " + std::string(other.kind)));
  }
  EXPECT_THAT(ReadText(good + R"({"user": "secret", "text": 1})"),
              IsRefused(2, "\"text\" is not a string but a number"));
}

TEST_F(UserRecordsTest, IntegersAreUsersByTheirDecimalText) {
  for (const char* user : {"0", "7", "-7", "18446744073709551615", "-9223372036854775808",
                           "12345678901234567890123", "-12345678901234567890123"}) {
    const std::string written = user;
    SUBMIX_ASSERT_OK(ReadText(R"({"user": )" + written + R"(, "text": "x"})" + "\n" +
                              R"({"user": ")" + written + R"(", "text": "y"})"));
    EXPECT_THAT(records_, ElementsAre(IsRecord(written, "x", 1), IsRecord(written, "y", 2)));
  }
  EXPECT_THAT(ReadText(R"({"user": 007, "text": "x"})"), IsRefused(1, "invalid JSON"));
}

TEST_F(UserRecordsTest, SaysWhyJsonIsInvalidByLine) {
  const std::string good = "\n{\"user\": \"a\", \"text\": \"x\"}\n";
  struct Line {
    const char* line;
    const char* reason;
  };
  for (const Line& invalid : {
           Line{"secret", "no JSON value begins so"},
           Line{"{\"user\": \"secret\"", "ends before the value does"},
           Line{"{\"user\": \"secret\",", "ends before the value does"},
           Line{"{", "ends before the value does"},
           Line{"[", "ends before the value does"},
           Line{"{\"user\": \"secret", "ends within a string"},
           Line{"{\"user\": \"secret\", \"text\": \"x\"} secret", "no JSON value begins so"},
           Line{"{\"user\": \"secret\"}{\"user\": \"secret\"}", "one object a line"},
           Line{"{'user': 'secret'}", "double quotes"},
           Line{"{user: \"secret\"}", "no JSON value begins so"},
           Line{"{\"user\": \"secret\", \"n\": NaN}", "NaN is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": [nan]}", "nan is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": Infinity}", "Infinity is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": -Infinity}", "Infinity is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": None}", "None is Python's"},
           Line{"{\"user\": \"secret\", \"n\": True}", "True is Python's"},
           Line{"{\"user\": \"secret\", \"text\": 1e999}", "a number too large"},
           Line{"{\"user\": \"secret\", \"text\": .5}", "no JSON value begins so"},
           Line{"{\"user\": \"secret\", \"text\": +5}", "no JSON value begins so"},
           Line{"{\"user\": \"secret\", \"text\": 5.}", "no number"},
           Line{"{\"user\": \"secret\",}", "a name in double quotes is missing"},
           Line{"{\"user\" \"secret\"}", "a colon is missing"},
           Line{"{\"user\": \"secret\" \"text\": \"x\"}", "a comma or a closing brace"},
           Line{"{\"user\": [\"secret\" \"x\"]}", "a comma or a closing bracket"},
           Line{"{\"user\": }", "a value is missing"},
           Line{"{\"user\": \"secret \\ud83d of\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\ud83d\\u0041\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\udc00\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\ud83d\\ud83d\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\x41\"}", "a backslash before"},
           Line{"{\"user\": \"secret \\u12g4\"}", "\\u without four hex digits"},
           Line{"{\"user\": \"secret\ttab\"}", "a control character that is not escaped"},
           // What the reader's own words are taken from must not be the line's.
           Line{"{\"user\": \"secret surrogate\" x", "no JSON value begins so"},
           Line{"{\"user\": \"secret last read hex digits\", x", "no JSON value begins so"},
       }) {
    EXPECT_THAT(ReadText(good + invalid.line), IsRefused(3, std::string("of the line: ")))
        << invalid.line;
    EXPECT_THAT(Read(), IsRefused(3, invalid.reason)) << invalid.line;
    EXPECT_THAT(records_, SizeIs(1));
  }
  for (const char* line : {"[]", "\"secret\"", "1", "[{\"user\": \"a\", \"text\": \"secret\"}]"}) {
    EXPECT_THAT(ReadText(good + line), IsRefused(3, "expected an object")) << line;
  }
}

TEST_F(UserRecordsTest, RefusesANulByteAndWhatFollowsIt) {
  EXPECT_THAT(ReadText(std::string("{\"user\": \"a\", \"text\": \"x\"}\0{\"secret\"", 36)),
              IsRefused(1, "invalid JSON at byte 27 of the line: a NUL byte"));
}

TEST_F(UserRecordsTest, RefusesIllFormedUtf8ByLine) {
  EXPECT_THAT(ReadText("{\"user\": \"a\", \"text\": \"secret \xff\"}\n"), IsRefused(1, "UTF-8"));
  EXPECT_THAT(ReadText("{\"user\": \"a\", \"text\": \"secret \xe9t\xe9\"}\n"),
              IsRefused(1, "convert the file"));
}

TEST_F(UserRecordsTest, SurvivesDeepNesting) {
  const std::string deep(1 << 20, '[');
  EXPECT_THAT(ReadText("{\"user\": \"a\", \"text\": " + deep), IsRefused(1, "invalid JSON"));
}

TEST_F(UserRecordsTest, RefusesAFileWithoutRecords) {
  for (const char* content : {"", "\n", "\r\n\n  \n", "\xef\xbb\xbf"}) {
    EXPECT_THAT(ReadText(content), StatusIs(StatusCode::kInvalidArgument,
                                            AllOf(HasSubstr("c.jsonl"), HasSubstr("no record"))));
  }
}

TEST_F(UserRecordsTest, ReportsAMissingFile) {
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound, HasSubstr("c.jsonl")));
  path_ = directory_.File("c.jsonl.xz");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound, HasSubstr("c.jsonl.xz")));
}

TEST_F(UserRecordsTest, ReportsADirectory) {
  path_ = directory_.path();
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInternal, HasSubstr(directory_.path())));
}

TEST_F(UserRecordsTest, EndsWithTheSinksFirstError) {
  Write("{\"user\": \"a\", \"text\": \"x\"}\n{\"user\": \"b\", \"text\": \"y\"}\n");
  int num_calls = 0;
  EXPECT_THAT(ReadUserRecords(path_,
                              [&](const UserRecord&) {
                                ++num_calls;
                                return base::ResourceExhaustedError("enough");
                              }),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr(path_ + ":1: enough")));
  EXPECT_EQ(num_calls, 1);
}

TEST_F(UserRecordsTest, ReadsVeryLongLines) {
  const std::string text(5 << 20, 'x');
  SUBMIX_ASSERT_OK(ReadText("{\"user\": \"a\", \"text\": \"" + text + "\"}\n" +
                            "{\"user\": \"b\", \"text\": \"y\"}\n"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", text, 1), IsRecord("b", "y", 2)));
}

TEST_F(UserRecordsTest, ReadsFieldsOfOtherNames) {
  Write("{\"author\": \"a\", \"user\": 1, \"body\": \"x\"}\n");
  columns_ = {"author", "body"};
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "x", 1)));
  EXPECT_THAT(ReadText("{\"user\": \"secret\", \"body\": \"x\"}\n"),
              IsRefused(1, "\"author\" is missing: expected an object such as {\"author\": "));
}

TEST_F(UserRecordsTest, ReadsCsvByItsHeader) {
  for (const char* name : {"c.csv", "C.CSV"}) {
    Write(
        "\xef\xbb\xbfid,text,user\r\n"
        "1,\"two\r\nlines, and \"\"quotes\"\"\",a\r\n"
        "2,,b\r\n",
        name);
    SUBMIX_ASSERT_OK(Read());
    EXPECT_THAT(records_, ElementsAre(IsRecord("a", "two\r\nlines, and \"quotes\"", 2),
                                      IsRecord("b", "", 4)));
  }
  columns_ = {"id", "user"};
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, ElementsAre(IsRecord("1", "a", 2), IsRecord("2", "b", 4)));
}

TEST_F(UserRecordsTest, RefusesCsvThatIsNotWhole) {
  struct Refused {
    std::string content;
    int line;
    const char* reason;
  };
  for (const Refused& refused :
       {Refused{
            "user,words\na,secret\n", 1,
            "0 columns \"text\", expected one (--text-column); its columns, by commas: \"user\", "
            "\"words\""},
        Refused{"user;text\na;secret\n", 1,
                "columns \"user\", \"text\" are separated by semicolons, expected commas"},
        Refused{"id\tuser\ttext\na\tb\tsecret\n", 1,
                "columns \"id\", \"user\", \"text\" are separated by tabs, expected commas"},
        Refused{"user|text\na|secret\n", 1, "are separated by bars"},
        Refused{"user\na\n", 1, "its columns, by commas: \"user\""},
        // No header, it seems.
        Refused{"u1,this is what a user wrote: secret\n", 1, "by commas: \"u1\", (long)"},
        Refused{"user,text,user\na,secret,b\n", 1, "2 columns \"user\""},
        Refused{"user,text\na,x\nb,secret,y\n", 3, "the row has 3 fields, the header 2"},
        Refused{"user,text\nsecret\n", 2, "the row has 1 fields"},
        Refused{"user,text\n,secret\n", 2, "\"user\" is empty"},
        Refused{"user,text\na,secret \xff\n", 2, "not UTF-8"},
        Refused{{"user,text\na,secret\0\n", 20}, 2, "NUL byte"},
        Refused{"user,text\na,sec\"ret\n", 2, "not CSV: a quote must begin"},
        Refused{"user,text\na,x\nb,\"secret\n\n", 3, "the last quote is not closed"}}) {
    Write(refused.content, "c.csv");
    EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("c.csv:" + std::to_string(refused.line) + ": "),
                                       HasSubstr(refused.reason), Not(HasSubstr("secret")))))
        << refused.content;
  }
  for (const char* content : {"", "user,text\n"}) {
    Write(content, "c.csv");
    EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no record")));
  }
}

TEST_F(UserRecordsTest, KnowsUserKeyedFilesByTheirNames) {
  for (const char* name :
       {"a.jsonl", "a.csv", "a.CSV", "b/a.jsonl.gz", "a.csv.zst", "a.jsonl.xz"}) {
    EXPECT_TRUE(IsUserKeyed(name)) << name;
  }
  for (const char* name : {"a.txt", "a.txt.gz", "jsonl", "a.csv.txt"}) {
    EXPECT_FALSE(IsUserKeyed(name)) << name;
  }
}

TEST_F(UserRecordsTest, ReadsTheBundledCorpus) {
  path_ = SUBMIX_DATA_DIR "/shakespeare.jsonl";
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, SizeIs(7097));
  EXPECT_EQ(records_.front().user, "First Citizen");
  EXPECT_EQ(records_.back().line, 7097);
}

TEST_F(UserRecordsTest, ReadsTheSharedBlogs) {
  path_ = SUBMIX_SHARED_DIR "/data/private/blogs.heldout.jsonl.xz";
  if (!base::FileExists(path_)) GTEST_SKIP() << path_ << " is not there";
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, SizeIs(2708));
}

}  // namespace user_records_test
}  // namespace submix::corpus
