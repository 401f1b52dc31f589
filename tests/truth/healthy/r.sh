# truth: healthy
# what: R fits models and sorts frames
# needs: R
cat >a.R <<'X'
set.seed(1)
d <- data.frame(x=rnorm(2e4), g=sample(letters, 2e4, TRUE))
d$y <- 2*d$x + rnorm(2e4)
for (i in 1:10) m <- lm(y ~ x + g, d)
print(summary(m)$r.squared)
a <- aggregate(y ~ g, d, mean)
print(nrow(a[order(a$y),]))
X
record R --vanilla --slave -f a.R
