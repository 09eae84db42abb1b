# Time glmnet on the stacked sparse design of a symmetric lasso.
# Usage: Rscript glmnet_path.R FOLDER
# FOLDER holds x.mtx (stacked design), y.txt, penalty.txt (factors), lambda.txt and thresholds.txt;
# seconds and coefficients are written beside them, one file for each threshold.
suppressMessages({library(Matrix); library(glmnet)})
folder <- commandArgs(trailingOnly = TRUE)[1]
at <- function(name) file.path(folder, name)
x <- as(readMM(at("x.mtx")), "CsparseMatrix")
y <- scan(at("y.txt"), quiet = TRUE)
penalty <- scan(at("penalty.txt"), quiet = TRUE)
lambda <- scan(at("lambda.txt"), quiet = TRUE)
thresholds <- scan(at("thresholds.txt"), quiet = TRUE)
glmnet.control(fdev = 0, devmax = 1)
for (i in seq_along(thresholds)) {
  seconds <- system.time(
    fit <- glmnet(x, y, lambda = lambda, penalty.factor = penalty, thresh = thresholds[i],
                  intercept = FALSE, standardize = FALSE, maxit = 1e8)
  )[["elapsed"]]
  writeLines(format(seconds, digits = 6), at(sprintf("seconds_%d.txt", i)))
  write.table(as.matrix(fit$beta), at(sprintf("beta_%d.txt", i)), row.names = FALSE, col.names = FALSE)
}
