#include "submix/apps/attacking/neighbour_flags.h"

namespace submix::apps {

void AddNeighbourFlags(Flags flags, workbench::NeighbourRequest& neighbours) {
  flags.Require("--text", neighbours.text, kFile,
                "What is asked: each position of this text is a query. The attacked user's own "
                "text tells most. .jsonl, .csv or plain text");
  CLI::Option* const user = flags.Add("--user", neighbours.user,
                                      "Ask only what this user wrote, of a --text of all users' "
                                      "(.jsonl, .csv), and attack the part that the user is in");
  flags
      .Add("--part", neighbours.part, kNonNegative,
           "The part that is there in one world, and the public model in the other")
      ->excludes(user);
  flags.Add(
      "--without", neighbours.without, kDirectory,
      "Instead, the other world: an ensemble trained without one user, the other parts the same");
  flags.Add("--ask", neighbours.asks, OneOf({"each", "most-telling"}),
            "each: the first --tokens positions, once; most-telling: of the whole text the one "
            "that tells most, --tokens times");
  flags.Add("--transcripts", neighbours.transcripts, Between(2, 100000000),
            "Drawn in each world. A mechanism with noise of its own runs once for each");
}

}  // namespace submix::apps
