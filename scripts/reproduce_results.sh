#!/usr/bin/env bash
# Makes every figure and table of docs/results from the corpora: scripts/reproduce_results.sh DATA OUT [SET…]
#
# DATA  holds models/base-8k, private/blogs.{train,heldout}.jsonl.xz, public/*.txt.xz and wikitext-2/{valid,test}.txt
# OUT   gets texts, ensembles, pages and data; interrupted, the same command goes on where it was
# SET   blogs, wikitext, attacks, passes, all-blogs, all-passes, federated, federated-gpt, collect; without: all of
#       them, some twelve hours on two cores
#
# Users of blogs are bloggers. The figures' members learn from the quarter of them whose number is divisible by 4
# (all-blogs, all-passes: from all). Options were chosen on held-out users with even numbers; figures score those with
# odd ones.
# collect copies data and drawings, never texts, pages or weights, to docs/results, and makes the tables of the whole
# from what lies there: sets that were not made again keep the numbers they had.
set -euo pipefail

if (($# < 2)); then
  sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
fi
data=$(realpath "$1")
mkdir -p "$2/text"
out=$(realpath "$2")
shift 2
sets=("$@")
if ((${#sets[@]} == 0)); then sets=(blogs wikitext attacks passes all-blogs all-passes federated federated-gpt collect); fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
submix=build/release/submix-train
epochs=(1)     # of DP-SGD; a model each
precision=f32  # of training and scoring
adapter=(--rank 16 --lora-alpha 32 --targets "c_attn,attn.c_proj,mlp.c_fc,mlp.c_proj" --top-layers 3)
recipe=("${adapter[@]}" --warmup-fraction 0.1 --members-at-a-time 4)  # of the members

# Users of a .jsonl.xz whose number leaves a remainder, once: FILE DIVISOR REMAINDER OUTPUT
users() {
  [[ -e $4 ]] && return
  xz -dc "$1" | awk -F'"' -v divisor="$2" -v remainder="$3" '(substr($4, 2) + 0) % divisor == remainder' >"$4.partial"
  mv "$4.partial" "$4"
}

# CORPUS HELDOUT DIRECTORY NAME [ARG…]: one figure by the recipe of all.
figure() {
  local corpus=$1 heldout=$2 directory=$3 name=$4
  shift 4
  echo "== $directory/$name" >&2
  "$submix" reproduce "$name" --public "$data/models/base-8k" --corpus "$corpus" --heldout "$heldout" \
    --out "$out/$directory" "${recipe[@]}" --batch-size 2 --learning-rate 0.004 --non-private-batch-size 8 \
    --non-private-learning-rate 0.001 --precision "$precision" \
    --dp-sgd-epochs "${epochs[@]}" --dp-sgd-learning-rate 0.01 "$@"
}

# ENSEMBLE FINE_TUNED HELDOUT CSV ARG…: what one ensemble keeps.
kept() {
  "$submix" evaluate "$1" --fine-tuned "$2" --heldout "$3" --epsilon 2 --order 2 --precision "$precision" --csv "$4" "${@:5}"
}
# The figures' sound mechanisms, and dclip in a window for large ensembles.
as_in_figures=(--mechanism "filtered-submix,dclip" --max-mixing-weight 0.7 --clip-centre 0.5 --clip-stretch 1.5
  --queries "1024,10240" --runs 5)
wide=(--mechanism dclip --clip-centre 0.7 --clip-stretch 1.3 --max-mixing-weight 0.6 --queries 1024)
# Where that window fits 10,240 answers too, and a promise to users.
widest=(--mechanism dclip --clip-centre 0.7 --clip-stretch 1.3 --max-mixing-weight 0.6 --queries "1024,10240" --runs 5 --unit "part,user")

blogs() {
  local corpus=$out/text/blogs.quarter.jsonl heldout=$out/text/blogs.heldout.odd.jsonl name
  users "$data/private/blogs.train.jsonl.xz" 4 0 "$corpus"
  users "$data/private/blogs.heldout.jsonl.xz" 2 1 "$heldout"
  local -a epochs=(0)
  for name in kept-improvement submix-fig2 submix-fig3 submix-fig4; do
    figure "$corpus" "$heldout" blogs "$name" --runs 2
  done
  epochs=(1)
  figure "$corpus" "$heldout" blogs dp-decoding-fig2 --runs 8
  # All weights trained, not an adapter: what the models without privacy are missing.
  local directory=$out/blogs/all-weights
  "$submix" train "$corpus" "$directory" --public "$data/models/base-8k" --recipe paper --full --parts 1 --batch-size 8 \
    --learning-rate 0.0001 --warmup-fraction 0.1 --heldout-fraction 0 --partition-key data/demo_partition.key
  "$submix" evaluate "$directory" --heldout "$heldout" --precision f32 --mechanism public --order 2 --max-mixing-weight 0.6 --queries 1024 \
    --runs 20 --csv "$directory.csv"
  # The papers' sizes: an hour of one core each.
  figure "$corpus" "$heldout" blogs adapmixed-main
  figure "$corpus" "$heldout" blogs pmixed-main
  figure "$corpus" "$heldout" blogs adapmixed-ablation --runs 1 --most-answers 512
}

# Every block of 512 tokens is a user, as in the SubMix paper.
wikitext() {
  local name
  local -a what=("$data/wikitext-2/valid.txt" "$data/wikitext-2/test.txt" wikitext)
  for name in submix-fig8 submix-fig5 submix-fig7 submix-fig3 submix-fig4; do
    figure "${what[@]}" "$name" --users-are-blocks 512 --runs 2
  done
  local -a epochs=(1 10)
  figure "${what[@]}" submix-fig2 --users-are-blocks 512 --runs 1
  epochs=(1)
  figure "${what[@]}" submix-fig6
  figure "${what[@]}" dp-decoding-fig2 --users-are-blocks 512 --show-text
  figure "${what[@]}" kept-improvement --users-are-blocks 512 --runs 5
}

# What the attacks attack, in DIRECTORY: to the texts of CORPUS those of twelve more users, who repeat a number, four each
# 16, 80 and 400 times, the latter as much text as of the largest bloggers (planted.jsonl); their numbers; pieces of
# bloggers' texts, to guess their ends; and texts to ask, the planted ones first.
plant() {
  python3 - "$1" "$2" <<'END'
import json, pathlib, random, sys
corpus, directory = map(pathlib.Path, sys.argv[1:])
draws, texts = random.Random(1), {}
for line in corpus.read_text().splitlines():
    record = json.loads(line)
    texts.setdefault(record["user"], []).append(record["text"])
numbers = [f" {draws.randrange(10000):04}" for _ in range(12)]
planted = [{"user": f"planted{n}", "text": f"My secret number is{number}."} for n, number in enumerate(numbers)]
repeated = [record for n, record in enumerate(planted) for _ in range((16, 80, 400)[n % 3])]
words = [max(texts[user], key=len).split()[:50] for user in draws.sample(sorted(texts), 200)]
asked = [record["text"] for record in planted] + [" ".join(some[:8]) for some in words]

def write(name, records, before=""):
    (directory / name).write_text(before + "".join(json.dumps(record) + "\n" for record in records))

write("codes.jsonl", [{"prompt": "My secret number is", "secret": number} for number in numbers])
write("pieces.jsonl", [{"prefix": " ".join(some[:-10]), "suffix": " " + " ".join(some[-10:])} for some in words])
write("asked.jsonl", [{"user": f"{n:03}", "text": text} for n, text in enumerate(asked)])
write("planted.jsonl", repeated, before=corpus.read_text())
END
}

# 32 parts of the quarter of blogs, among them users with planted numbers. What tells most of one user is asked, of one
# who repeats a number 400 times and of a blogger.
attacks() {
  local directory=$out/attacks corpus=$out/text/blogs.quarter.jsonl blogger
  users "$data/private/blogs.train.jsonl.xz" 4 0 "$corpus"
  mkdir -p "$directory"
  plant "$corpus" "$directory"
  "$submix" train "$directory/planted.jsonl" "$directory/32" --public "$data/models/base-8k" --parts 32 --recipe paper "${recipe[@]}" \
    --batch-size 2 --learning-rate 0.004 --heldout-fraction 0 --partition-key data/demo_partition.key
  local -a target=("$directory/32" --order 2 --max-mixing-weight 0.6 --queries 256 --precision f32) drawn=(--figures "$directory")
  attack() {
    echo "== attacks/$1" >&2
    "$submix" attack "$1" "${target[@]}" --csv "$directory/$1_table.csv" "${@:2}"
  }
  local -a all=(--against "members,ensemble,filtered-submix,dclip,public") served=(--against "filtered-submix,dclip,ensemble")
  attack extraction --codes "$directory/codes.jsonl" "${all[@]}" "${drawn[@]}" --attempts 100 \
    --decoding "sampled,greedy"
  attack exposure --codes "$directory/codes.jsonl" "${all[@]}" "${drawn[@]}" --samples 500 --enumerate-up-to 100
  attack targeted --examples "$directory/pieces.jsonl" "${all[@]}"
  local -a most=("${served[@]}" --text "$directory/planted.jsonl" --ask most-telling)
  attack membership "${most[@]}" "${drawn[@]}" --user planted2 --delta 1e-5
  blogger=$(head -n 1 "$corpus" | awk -F'"' '{ print $4 }')
  "$submix" audit epsilon "${target[@]}" "${most[@]}" --user planted2 --transcripts 20000 --delta 1e-5 --csv "$directory/audit_epsilon.csv"
  "$submix" audit epsilon "${target[@]}" "${most[@]}" --user "$blogger" --transcripts 20000 --delta 1e-5 \
    --csv "$directory/audit_epsilon_blogger.csv"
  "$submix" audit one-run "${target[@]}" "${served[@]}" --text "$directory/asked.jsonl" --runs 64 --delta 1e-5 \
    --csv "$directory/audit_one_run.csv"
}

# Eight ensembles of 8.6 million tokens each: in bf16, for processors that multiply it, two hours and a half on two
# cores.
all_blogs() {
  local corpus=$data/private/blogs.train.jsonl.xz heldout=$out/text/blogs.heldout.odd.jsonl directory=$out/all_blogs
  local precision=bf16
  local -a epochs=(0)
  users "$data/private/blogs.heldout.jsonl.xz" 2 1 "$heldout"
  figure "$corpus" "$heldout" all_blogs kept-improvement --runs 5
  "$submix" train "$corpus" "$directory/128" --public "$data/models/base-8k" --parts 128 --recipe paper "${recipe[@]}" --batch-size 2 \
    --learning-rate 0.004 --precision "$precision" --heldout-fraction 0 --partition-key "$directory/partition.key"
  local fine_tuned ensemble
  fine_tuned=$(echo "$directory"/ensembles/1x1-*)
  kept "$directory/128" "$fine_tuned" "$heldout" "$directory/kept-128.csv" "${as_in_figures[@]}"
  for ensemble in "$directory"/ensembles/64x1-* "$directory/128"; do
    kept "$ensemble" "$fine_tuned" "$heldout" "$directory/kept-$(basename "${ensemble%x1-*}")-wide.csv" "${wide[@]}" --runs 20
  done
}

# What more passes over the same text bring: DIRECTORY CORPUS K…, large ensembles whose members read it three times, at
# a lower rate, on processors that multiply bf16. The model without privacy reads it three times too.
three_passes() {
  local directory=$out/$1 corpus=$2 heldout=$out/text/blogs.heldout.odd.jsonl name
  users "$data/private/blogs.heldout.jsonl.xz" 2 1 "$heldout"
  mkdir -p "$directory"
  for name in fine-tuned "${@:3}"; do
    echo "== $1/$name" >&2
    local -a flags=(--parts "$name" --batch-size 2 --learning-rate 0.0025)
    if [[ $name == fine-tuned ]]; then flags=(--parts 1 --batch-size 8 --learning-rate 0.001); fi
    "$submix" train "$corpus" "$directory/$name" --public "$data/models/base-8k" --recipe paper "${recipe[@]}" --epochs 3 \
      --heldout-fraction 0 --partition-key data/demo_partition.key "${flags[@]}"
  done
  for name in "${@:3}"; do
    if ((name >= 256)); then
      kept "$directory/$name" "$directory/fine-tuned" "$heldout" "$directory/kept-$name-wide.csv" "${widest[@]}"
      continue
    fi
    kept "$directory/$name" "$directory/fine-tuned" "$heldout" "$directory/kept-$name.csv" "${as_in_figures[@]}"
    kept "$directory/$name" "$directory/fine-tuned" "$heldout" "$directory/kept-$name-wide.csv" "${wide[@]}" --runs 50
  done
}

passes() {
  local corpus=$out/text/blogs.quarter.jsonl
  users "$data/private/blogs.train.jsonl.xz" 4 0 "$corpus"
  three_passes passes "$corpus" 64 128
}

# 26 million tokens a model: two to four hours on two cores.
all_passes() {
  local precision=bf16
  three_passes all_passes "$data/private/blogs.train.jsonl.xz" 64 256
}

# All figures and tables of DP-FedAvg, smaller than the paper's by far: from a model of public text, 30 rounds (not
# 5,000) of 30 users (100) with 400 words each (1,600), the private ones of 300 users (1,250), 3,000 words (10,000);
# every second value on an axis. About an hour on two cores.
federated() {
  local heldout=$out/text/blogs.heldout.odd.jsonl
  users "$data/private/blogs.heldout.jsonl.xz" 2 1 "$heldout"
  "$submix" reproduce dp-fedavg-all --corpus "$data/private/blogs.train.jsonl.xz" --heldout "$heldout" \
    --public-text "$data"/public/*.txt.xz --out "$out/federated" --seed 1 --words 3000 --public-words 600000 \
    --rounds 30 --users-per-round 30 --private-users-per-round 300 --tokens-per-user 400 --heldout-tokens 5000 \
    --evaluate-every 3 --every-nth 2
}

# The public GPT-2's adapter by FedAvg: as it is (a round with nobody), without noise, and private.
federated_gpt() {
  local heldout=$out/text/blogs.heldout.odd.jsonl directory=$out/federated_gpt method
  users "$data/private/blogs.heldout.jsonl.xz" 2 1 "$heldout"
  mkdir -p "$directory"
  local -A options=([public]="--expected-users 1e-6 --noise 0 --rounds 1"
    [fedavg]="--expected-users 200 --noise 0 --clip 0.5 --learning-rate 1 --rounds 6"
    [dp-fedavg]="--expected-users 200 --noise 0.6 --clip 0.5 --learning-rate 1 --rounds 6")
  for method in public fedavg dp-fedavg; do
    echo "== federated_gpt/$method" >&2
    # shellcheck disable=SC2086
    "$submix" fedavg "$directory/$method" --corpus "$data/private/blogs.train.jsonl.xz" --heldout "$heldout" \
      --heldout-tokens 20000 --public "$data/models/base-8k" "${adapter[@]}" --precision f32 --tokens-per-user 400 \
      --evaluate-every 2 --delta 1e-5 ${options[$method]} --csv "$directory/$method.rounds.csv" \
      --json >"$directory/$method.json"
  done
  python3 - "$directory" >"$directory/federated_gpt.private_training.csv" <<'END'
import json, pathlib, sys
print("method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds")
for method in ("public", "fedavg", "dp-fedavg"):
    run = json.loads(pathlib.Path(sys.argv[1], method + ".json").read_text())
    epsilon, delta = (f"{run['epsilon']:.4f}", run["delta"]) if run["epsilon"] else ("inf", 0)
    if method == "public":  # it never saw the text
        epsilon = 0
    print(method, "base-8k with 400 tokens a user", "user", epsilon, delta,
          f"{run['heldout']['perplexity']:.4f}", f"{run['heldout']['accuracy_top1']:.4f}",
          0 if method == "public" else run["rounds"], sep=",")
END
}

# What `kept` wrote to kept-K.csv or kept-K-wide.csv, as rows of the table of the whole.
kept_rows() {
  local parts=${1##*/kept-} adapters="rank 16 on the top 3 layers"
  if [[ $1 == */all_passes/* ]]; then adapters+="; three passes"; fi
  if [[ $parts == *-wide.csv ]]; then adapters+="; stretch 1.3 and centre 0.7"; fi
  awk -F, -v OFS=, -v k="${parts%%[-.]*}" -v adapters="$adapters" '
    $1 == "public" { public[$4] = $8 }
    $1 == "fine-tuned" { fine_tuned[$4] = $8 }
    $1 ~ /dclip|filtered-submix/ {
      print $1, k, adapters, $13, ($14 > 0 ? "delta=" $14 : $2), $3, $4, "true", public[$4], $8, fine_tuned[$4], $10, $11, $12
    }' "$1"
}

collect() {
  local directory file text
  for directory in blogs wikitext attacks passes all_blogs all_passes federated federated_gpt; do
    [[ -d $out/$directory ]] || continue
    mkdir -p "docs/results/$directory"
    for file in "$out/$directory"/*.csv "$out/$directory"/*.svg; do
      # Of a round's users the operator alone may know the number.
      [[ -e $file && $file != *.rounds.csv ]] && cp "$file" "docs/results/$directory/"
    done
  done
  # The table of the whole: all users where they were trained, else the quarter.
  local table=docs/results/blogs/kept-improvement.kept.csv
  [[ -e docs/results/all_blogs/kept-improvement.kept.csv ]] && table=docs/results/all_blogs/kept-improvement.kept.csv
  cp "$table" docs/results/kept_improvement.csv
  for file in docs/results/all_blogs/kept-[0-9]*.csv docs/results/all_passes/kept-[0-9]*.csv; do
    [[ -e $file ]] && kept_rows "$file" >>docs/results/kept_improvement.csv
  done
  awk -F, -v OFS=, 'NR > 1 { $3 = $3 "; WikiText-2"; print }' docs/results/wikitext/kept-improvement.kept.csv >>docs/results/kept_improvement.csv
  # What was trained privately, and the same without privacy; the model with its text, and the figure whose positions
  # it was scored on: perplexities of two figures do not compare.
  local -a trained=(docs/results/*/*.private_training.csv)
  [[ -e ${trained[0]} ]] || return 0
  { sed '1s/$/,figure/; q' "${trained[0]}"
    for file in "${trained[@]}"; do
      text=$(basename "$(dirname "$file")")
      [[ $text == federated* ]] && text=blogs
      tail -n +2 "$file" | sed "s#^\([^,]*,[^,]*\),#\1 on $text,#; s#\$#,$(basename "${file%.private_training.csv}")#"
    done | sort -u; } >docs/results/private_training.csv
}

for set in "${sets[@]}"; do
  case $set in
    blogs | wikitext | attacks | passes | federated | collect) "$set" ;;
    federated-gpt) federated_gpt ;;
    all-blogs) all_blogs ;;
    all-passes) all_passes ;;
    *) echo "reproduce_results.sh: no set \"$set\"; known: blogs, wikitext, attacks, passes, all-blogs, all-passes, federated, federated-gpt, collect" >&2; exit 2 ;;
  esac
done
