# 146 men with cancer of the prostate (the data set `stagec` of rpart): may this tree be published?
#
#   Rscript tutorial.R
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(if (length(here)) dirname(here) else ".", "maxent.R"))
library(rpart)

men <- transform(stagec, outcome = factor(pgstat, levels = 0:1, labels = c("stable", "progressed")))
model <- rpart(outcome ~ age + eet + g2 + grade + gleason + ploidy, data = men, method = "class")

# Others know a man's age and the grade of his tumour. Nobody's outcome may be certain.
found <- maxent_review(model, men, target = "outcome", qi = c("age", "grade", "gleason"), limits = list(max_certain = 0))
print(found)
print(head(found$people[order(-found$people[["P(progressed)"]]), ], 3), row.names = FALSE)
