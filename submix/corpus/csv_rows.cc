#include "submix/corpus/csv_rows.h"

#include <utility>

#include <csv.h>

#include "submix/corpus/text_lines.h"

namespace submix::corpus {
namespace {

using base::Status;
using RowSink = std::function<Status(std::int64_t line, std::vector<std::string>& fields)>;

// libcsv's parser, fed line by line, so that a row knows its line.
class RowParser {
 public:
  RowParser(const std::string& path, const RowSink& sink) : path_(path), sink_(sink) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI);
    // Its buffer grows by this much at a time: by the 128 bytes that it has, a long field would be
    // copied again and again.
    csv_set_blk_size(&parser_, 1 << 20);
    // Spaces belong to their field (RFC 4180, 2.4).
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });
  }
  ~RowParser() { csv_free(&parser_); }
  RowParser(const RowParser&) = delete;
  RowParser& operator=(const RowParser&) = delete;

  Status Add(std::int64_t line, std::string_view text) {
    if (!is_in_row_) row_line_ = line;
    has_ended_row_ = false;
    const std::size_t read =
        csv_parse(&parser_, text.data(), text.size(), &RowParser::Field, &RowParser::EndRow, this);
    is_in_row_ = !has_ended_row_ && (is_in_row_ || text.find_first_not_of("\r\n") != text.npos);
    SUBMIX_RETURN_IF_ERROR(std::exchange(status_, base::OkStatus()));
    if (read != text.size()) return SyntaxError("a quote must begin and end its field");
    if (csv_get_buffer_size(&parser_) <= kMostLineBytes) return base::OkStatus();
    return SyntaxError("a field is longer than " + std::to_string(kMostLineBytes >> 20) + " MiB");
  }

  Status Finish() {
    if (csv_fini(&parser_, &RowParser::Field, &RowParser::EndRow, this) != 0) {
      return SyntaxError("the last quote is not closed");
    }
    return status_;
  }

 private:
  static void Field(void* bytes, std::size_t size, void* parser) {
    static_cast<RowParser*>(parser)->fields_.emplace_back(static_cast<const char*>(bytes), size);
  }
  static void EndRow(int, void* parser) {
    auto& self = *static_cast<RowParser*>(parser);
    self.has_ended_row_ = true;
    if (self.status_.ok()) self.status_ = self.sink_(self.row_line_, self.fields_);
    self.fields_.clear();
  }

  Status SyntaxError(const std::string& what) const {
    return base::InvalidArgumentError(path_ + ":" + std::to_string(row_line_) +
                                      ": the row is not CSV: " + what);
  }

  const std::string& path_;
  const RowSink& sink_;
  csv_parser parser_;
  std::vector<std::string> fields_;
  std::int64_t row_line_ = 0;
  bool is_in_row_ = false;  // a quoted field goes on in the next line
  bool has_ended_row_ = false;
  Status status_;
};

}  // namespace

Status ReadCsvRows(const std::string& path, const RowSink& sink) {
  RowParser rows(path, sink);
  SUBMIX_RETURN_IF_ERROR(ReadLinesWithEnds(
      path, [&](std::int64_t line, std::string_view text) { return rows.Add(line, text); }));
  return rows.Finish();
}

}  // namespace submix::corpus
